"""``tensorflow.python.client.timeline``: a traced step as a Chrome trace."""

# --- written by dev/make_api.py: make api
# isort: split
from berth.session.timeline import Timeline

__all__ = [
    "Timeline",
]
# --- end
