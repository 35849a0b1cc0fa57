"""`tf.Session`: graphs run by their fetches."""
