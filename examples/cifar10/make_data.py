# berth run examples/cifar10/make_data.py --data_dir cifar10_data
"""Make small files of the kind that CIFAR-10 has, with classes that can be learned.

Every class has a picture of coarse coloured fields. An image is the picture of its class,
moved by a few pixels, mixed with noise and with part of another class's picture.
"""

import argparse
import os

import numpy as np

from cifar10_input import IMAGE_SIZE, N_CLASSES, TEST_FILES, TRAINING_FILES

FIELDS = 4
MAX_SHIFT = 3


def pictures(random):
    """Draw the picture of each class: symmetric, since training images are mirrored."""
    half = random.uniform(0, 255, (N_CLASSES, 3, FIELDS, FIELDS // 2))
    fields = np.concatenate([half, half[..., ::-1]], axis=-1)
    field_size = IMAGE_SIZE // FIELDS
    return fields.repeat(field_size, axis=2).repeat(field_size, axis=3)


def records(of_classes, n_images, random):
    """Make images, as the rows of a file: label, then red, green and blue."""
    labels = random.permutation(np.arange(n_images) % N_CLASSES)
    others = random.integers(0, N_CLASSES, n_images)
    share = random.uniform(0.0, 0.3, (n_images, 1, 1, 1))
    images = (1 - share) * of_classes[labels] + share * of_classes[others]
    shifts = random.integers(-MAX_SHIFT, MAX_SHIFT + 1, (n_images, 2))
    for image, shift in zip(images, shifts, strict=True):
        image[...] = np.roll(image, shift, axis=(1, 2))
    images += random.normal(0, 25, images.shape)
    pixels = np.clip(images, 0, 255).astype(np.uint8).reshape(n_images, -1)
    return np.hstack([labels[:, None].astype(np.uint8), pixels])


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data_dir", default="cifar10_data")
    parser.add_argument("--images", type=int, default=200, help="images in each file")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    random = np.random.default_rng(args.seed)
    of_classes = pictures(random)
    os.makedirs(args.data_dir, exist_ok=True)
    for name in (*TRAINING_FILES, *TEST_FILES):
        records(of_classes, args.images, random).tofile(os.path.join(args.data_dir, name))
    n_files = len(TRAINING_FILES) + len(TEST_FILES)
    print(f"{n_files} files of {args.images} made-up images are in {args.data_dir}.")


if __name__ == "__main__":
    main()
