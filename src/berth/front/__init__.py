"""The public API's shared parts: the context, device scopes, options and `berth.why`."""
