/* Names of power states, as people and scripts of sites have them. */
#include "power/power.h"

static const char *const state_names[] = {"unknown", "on", "off"};
const struct phx_enum phx_power_state_names = {"power state", state_names,
					       PHX_ARRAY_SIZE(state_names)};
