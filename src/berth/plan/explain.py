"""Plans as text: what is done, where, in which order and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from berth.ops.shape import bracketed
from berth.plan.structure import Step

if TYPE_CHECKING:
    from berth.plan.plan import Plan


def explain_plan(plan: Plan) -> str:
    """Write a plan for people, stage by stage, each operation with the reason of its place."""
    names = [device.short_name for device in plan.site.devices]
    asked = [t.name for t in plan.request.fetches] + [op.name for op in plan.request.targets]
    lines = [f"Plan for {', '.join(asked)}"]
    if plan.request.feeds:
        fed = [f"{feed.tensor.name} {bracketed(feed.dims)}" for feed in plan.request.feeds]
        lines.append(f"  fed: {', '.join(fed)}")
    if plan.folded:
        lines.append(f"  known beforehand: {', '.join(op.name for op in plan.folded)}")
    for number, stage in enumerate(plan.stages, 1):
        waits = ", ".join(str(other + 1) for other in stage.waits)
        after = f", after stage {waits}" if waits else ""
        lines.append(f"Stage {number} on {names[stage.device]}{after}")
        for source, target in stage.arrivals:
            copied = f"copy {source.tensor.name} from {names[source.device]}"
            lines.append(f"  {copied}: {plan.type_of(target).nbytes} bytes")
        for step in stage.steps:
            lines += [f"  {line}" for line in _step_lines(plan, step)]
    for device, nbytes in sorted(plan.workspace_bytes.items()):
        lines.append(f"Workspace on {names[device]}: {nbytes} bytes")
    for op in plan.then:
        lines.append(f"Then {op.name} ({op.type}), as values decide, and what waits for it")
    return "\n".join(lines) + "\n"


def _step_lines(plan: Plan, step: Step) -> list[str]:
    if step.members:
        lines = [f"in slices, {len(step.members)} operations at a time:"]
        return lines + [
            f"  {ln}" for member in step.members for ln in _step_lines(plan, member)
        ]
    made = [(value.dtype.name, plan.type_of(value).dims) for value in step.outputs]
    types = [f"{name}{bracketed(dims)}" for name, dims in made]
    if step.is_known:
        types.append("known beforehand")
    head, *reasons = _reason_lines(plan, step)
    given = f" -> {', '.join(types)}" if types else ""
    return [f"{head}{given}", *reasons]


def _reason_lines(plan: Plan, step: Step) -> list[str]:
    """Say why a step is on its device; a plan outlives the placement it was made by."""
    op, device, placement = step.op, plan.site.devices[step.device], plan.site.placement
    if placement.devices.get(op) is device:
        lines: list[str] = placement.why(op).splitlines()
        return lines
    earlier = "because: planned before operations were added to the graph"
    return [f"{op.name} ({op.type}) runs on {device.short_name}", f"  {earlier}"]
