"""``tf.image``: crops, flips, colors and sizes of images."""

# --- written by dev/make_api.py: make api
# isort: split
from berth.ops.image.adjusting import (
    adjust_brightness,
    adjust_contrast,
    adjust_gamma,
    convert_image_dtype,
    per_image_standardization,
    random_brightness,
    random_contrast,
)
from berth.ops.image.colors import (
    adjust_hue,
    adjust_saturation,
    grayscale_to_rgb,
    hsv_to_rgb,
    random_hue,
    random_saturation,
    rgb_to_grayscale,
    rgb_to_hsv,
)
from berth.ops.image.cropping import (
    central_crop,
    crop_to_bounding_box,
    pad_to_bounding_box,
    random_crop,
    resize_with_crop_or_pad,
)
from berth.ops.image.cropping import resize_with_crop_or_pad as resize_image_with_crop_or_pad
from berth.ops.image.flipping import (
    flip_left_right,
    flip_up_down,
    random_flip_left_right,
    random_flip_up_down,
    rot90,
    transpose,
)
from berth.ops.image.flipping import transpose as transpose_image
from berth.ops.image.resizing import ResizeMethodV1 as ResizeMethod
from berth.ops.image.resizing import (
    resize_area,
    resize_bicubic,
    resize_bilinear,
    resize_images,
    resize_nearest_neighbor,
)
from berth.ops.image.resizing import resize_images as resize

__all__ = [
    "ResizeMethod",
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_saturation",
    "central_crop",
    "convert_image_dtype",
    "crop_to_bounding_box",
    "flip_left_right",
    "flip_up_down",
    "grayscale_to_rgb",
    "hsv_to_rgb",
    "pad_to_bounding_box",
    "per_image_standardization",
    "random_brightness",
    "random_contrast",
    "random_crop",
    "random_flip_left_right",
    "random_flip_up_down",
    "random_hue",
    "random_saturation",
    "resize",
    "resize_area",
    "resize_bicubic",
    "resize_bilinear",
    "resize_image_with_crop_or_pad",
    "resize_images",
    "resize_nearest_neighbor",
    "resize_with_crop_or_pad",
    "rgb_to_grayscale",
    "rgb_to_hsv",
    "rot90",
    "transpose",
    "transpose_image",
]
# --- end
