# berth run examples/cifar10/plot_loss.py --train_dir cifar10_train --svg loss.svg
"""Draw the losses of a training run, from its summaries, as SVG."""

import argparse
import glob
import os

import tensorflow.compat.v1 as tf

WIDTH, HEIGHT, MARGIN = 560, 300, 48
INK, GRID, LINE = "#24292f", "#d8dee4", "#0072b2"
STYLE = f"font: 12px system-ui, 'DejaVu Sans', Arial, sans-serif; fill: {INK}"


def read_losses(train_dir):
    """Return the loss of each step that has one; of a step that was repeated, the last."""
    paths = sorted(glob.glob(os.path.join(train_dir, "events.out.tfevents.*")))
    if not paths:
        raise SystemExit(f"There are no summaries in {train_dir!r}.")
    losses = {}
    for path in paths:
        for event in tf.train.summary_iterator(path):
            for value in event.summary.value:
                if value.tag == "loss":
                    losses[event.step] = value.simple_value
    return losses


def draw(losses):
    """Return the picture: steps to the right, losses upwards."""
    last = max(*losses, 1)
    top = int(max(losses.values())) + 1

    def x(step):
        return MARGIN + step / last * (WIDTH - 2 * MARGIN)

    def y(loss):
        return HEIGHT - MARGIN - loss / top * (HEIGHT - 2 * MARGIN)

    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} style="{STYLE}">',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        f'<text x="{MARGIN}" y="24" font-weight="bold">Loss of each step</text>',
    ]
    for loss in range(top + 1):
        ends = f'x1="{MARGIN}" x2="{WIDTH - MARGIN}" y1="{y(loss):.0f}" y2="{y(loss):.0f}"'
        lines.append(f'<line {ends} stroke="{GRID}"/>')
        lines.append(f'<text x="{MARGIN - 16}" y="{y(loss) + 4:.0f}">{loss}</text>')
    for step in sorted({0, last // 4, last // 2, 3 * last // 4, last}):
        place = f'x="{x(step):.0f}" y="{HEIGHT - MARGIN + 20}" text-anchor="middle"'
        lines.append(f"<text {place}>{step}</text>")
    points = " ".join(f"{x(step):.0f},{y(loss):.0f}" for step, loss in sorted(losses.items()))
    lines.append(f'<polyline points="{points}" fill="none" stroke="{LINE}" stroke-width="2"/>')
    return "\n".join([*lines, "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--train_dir", default="cifar10_train")
    parser.add_argument("--svg", default="loss.svg")
    args = parser.parse_args()
    losses = read_losses(args.train_dir)
    with open(args.svg, "w", encoding="utf-8") as file:
        file.write(draw(losses))
    print(f"{len(losses)} losses are drawn in {args.svg}.")


if __name__ == "__main__":
    main()
