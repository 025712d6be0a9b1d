#!/bin/bash
# by turns: a browser, minutes.
# Agreements in a real browser: the world of portal.sh, beside whose other tests they run.
exec "$(dirname "$0")/portal.sh" agreements
