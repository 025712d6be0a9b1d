#!/bin/bash
# by turns: 120 s: a browser, minutes.
# Agreements in a real browser: the world of portal.sh, beside whose other tests they run.
exec "$(dirname "$0")/portal.sh" agreements
