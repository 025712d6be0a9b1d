/* Tables of setup policies: see setup.h. Pure. */
#include "node/setup.h"

static const char *const modes[] = { "noop", "wipe" };
const struct phx_enum phx_setup_mode_names = { "setup policy", modes, PHX_ARRAY_SIZE(modes) };

static const char *const methods[] = { "auto", "crypto", "discard", "overwrite", "secure-erase" };
const struct phx_enum phx_wipe_method_names = { "wipe method", methods, PHX_ARRAY_SIZE(methods) };

static const char *const whens[] = { "release", "assign", "both" };
const struct phx_enum phx_setup_when_names = { "moment of a setup policy", whens, PHX_ARRAY_SIZE(whens) };

static const struct phx_field setup_fields[] = {
	PHX_ENUM(struct phx_setup, mode, &phx_setup_mode_names),
	PHX_ENUM(struct phx_setup, method, &phx_wipe_method_names),
	PHX_ENUM(struct phx_setup, when, &phx_setup_when_names),
};
const struct phx_record phx_setup_record = PHX_RECORD("setup", struct phx_setup, setup_fields);

bool phx_setup_wipes(const struct phx_setup *s, enum phx_setup_when moment)
{
	return s->mode == PHX_SETUP_WIPE && (s->when == PHX_WHEN_BOTH || s->when == (int)moment);
}
