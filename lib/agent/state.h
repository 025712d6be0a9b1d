/* What this node is set to: the active role (STATE/role.json), the system it
 * was deployed with (STATE/system.json), what it is to have at hand (STATE/stock.json). */
#ifndef PHX_AGENT_STATE_H
#define PHX_AGENT_STATE_H

#include <sys/stat.h>

#include "types/role.h"

/** The role whose packages are active here. `run`: its services are to run. */
struct role_state {
	bool run;
	struct phx_role role;
};
extern const struct phx_record role_state_record;

/** What was written to this disk or loaded into RAM. */
struct system_state {
	char image[PHX_NAME_MAX];
	char version[PHX_NAME_MAX];
	char digest[65];
};
extern const struct phx_record system_state_record;

/** Packages that are wanted at hand, and the id by which the head knows the list. */
struct stock_state {
	uint64_t id;
	struct phx_list packages; /* struct phx_package_ref */
};
extern const struct phx_record stock_state_record;

/** -ENOENT none. Caller owns *ret: phx_record_fini(&role_state_record, ret). */
int role_state_read(const char *state_dir, struct role_state *ret, struct phx_err *err);
/** The same for who looks again and again: parsed only when the file is another one than last time.
 * Zeroed `role` where there is none. Begins zeroed; valid until the next look. */
struct role_view {
	struct role_state role;
	struct stat file;
};
const struct role_state *role_view_look(struct role_view *v, const char *state_dir);
void role_view_fini(struct role_view *v);
int role_state_write(const char *state_dir, const struct role_state *s, struct phx_err *err);
/** Change `run` of what is there; -ENOENT none. */
int role_state_set_run(const char *state_dir, bool run, struct phx_err *err);
/** None is no error. */
int role_state_remove(const char *state_dir, struct phx_err *err);

int system_state_read(const char *state_dir, struct system_state *ret, struct phx_err *err);
int system_state_write(const char *state_dir, const struct system_state *s, struct phx_err *err);

/** -ENOENT none. Caller owns *ret. */
int stock_state_read(const char *state_dir, struct stock_state *ret, struct phx_err *err);
int stock_state_write(const char *state_dir, const struct stock_state *s, struct phx_err *err);

/** phx_role_identity() of what is really here: the role's packages at the versions that are current
 * below `pkg_root` ("none" where there is none), on the system's own image. `ret` is "" without a
 * role. A machine without system.json (it was not deployed by Phoenix) counts as having the role's
 * image. */
void state_identity(const char *state_dir, const char *pkg_root, const struct phx_role *role,
		    char *ret, size_t ret_size);

#endif
