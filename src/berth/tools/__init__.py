"""The `berth` command and its reports."""
