"""What the product finds and computes, in the forms that others read: terminals, CI systems, pages. No I/O of its own."""
