"""What runs when: waiting, choosing, checking, printing."""
