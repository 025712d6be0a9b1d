#!/bin/bash
# by turns: 120 s: a browser, minutes.
# The portal's page of the cluster, and 10,000 nodes on it, on a head of their own: other pages' tests leave nodes with roles, and
# these six are free. See portal.sh.
exec "$(dirname "$0")/portal.sh" cluster large
