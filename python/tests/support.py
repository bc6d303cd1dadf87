"""What several tests share."""

# The --tolerance at which answers agree with oracles to six digits and more.
EXACT = 1e-18
