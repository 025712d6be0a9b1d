#!/bin/bash
# by turns: 80 s: an emulated machine, minutes.
# The table of `make lab-why`, shortened for `make check`: two of its cases, with a quarter of the time that machines have
# elsewhere. Prints "ok CASE" or "not ok CASE" a case.
PATIENCE=${PATIENCE:-25} exec "$(dirname "$0")/why.sh" dhcp_silent script_404
