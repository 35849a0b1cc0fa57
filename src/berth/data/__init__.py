"""``tf.data``: input pipelines; files of records, examples, queues."""

# --- written by dev/make_api.py: make api
# isort: split

__all__ = []
# --- end
