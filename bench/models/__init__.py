"""What bench/training.py times: one module for each library, and what is given to all."""
