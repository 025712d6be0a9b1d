/* Files with this node's state: the active role (STATE/role.json), the system that
 * it was deployed with (STATE/system.json), packages to prefetch (STATE/prefetch.json), the role
 * whose services run ahead (STATE/ahead.json). */
#ifndef PHX_AGENT_STATE_H
#define PHX_AGENT_STATE_H

#include <sys/stat.h>

#include "types/role.h"

/** The role whose packages are active here. `run`: should its services run? */
#define ROLE_STATE_FIELDS(F, S) \
	F(S, run, BOOL) \
	F(S, role, REC(phx_role))
PHX_RECORD_STRUCT(role_state, ROLE_STATE_FIELDS);

/** The image that was written to this disk or loaded into RAM. */
#define SYSTEM_STATE_FIELDS(F, S) \
	F(S, image, STR(PHX_NAME_MAX)) \
	F(S, version, STR(PHX_NAME_MAX)) \
	F(S, digest, STR(65))
PHX_RECORD_STRUCT(system_state, SYSTEM_STATE_FIELDS);

/** Packages to prefetch, and the id by which the head knows the list. */
#define PREFETCH_STATE_FIELDS(F, S) \
	F(S, id, U64) \
	F(S, packages, LIST(phx_package_ref))
PHX_RECORD_STRUCT(prefetch_state, PREFETCH_STATE_FIELDS);

/** -ENOENT: there is no role. The caller frees *ret by phx_record_fini(&role_state_record, ret). */
int role_state_read(const char *state_dir, struct role_state *ret, struct phx_err *err);
/** The same for a caller that looks often: the file is parsed only when it has changed. `role` is
 * zeroed when there is none. Zero-initialise the view; a result is valid until the next look. */
struct role_view {
	struct role_state role;
	struct stat file;
};
const struct role_state *role_view_look(struct role_view *v, const char *state_dir);
void role_view_fini(struct role_view *v);
int role_state_write(const char *state_dir, const struct role_state *s, struct phx_err *err);
/** Change `run` of the active role. -ENOENT: there is no role. */
int role_state_set_run(const char *state_dir, bool run, struct phx_err *err);
/** Remove the active role's file. No role is no error. */
int role_state_remove(const char *state_dir, struct phx_err *err);

int system_state_read(const char *state_dir, struct system_state *ret, struct phx_err *err);
int system_state_write(const char *state_dir, const struct system_state *s, struct phx_err *err);

/** -ENOENT: there is no list. The caller frees *ret by phx_record_fini(). */
int prefetch_state_read(const char *state_dir, struct prefetch_state *ret, struct phx_err *err);
int prefetch_state_write(const char *state_dir, const struct prefetch_state *s,
			 struct phx_err *err);

/** Read the role whose services were started ahead, or were about to be. -ENOENT: there is none.
 * The caller frees *ret by phx_record_fini(&phx_role_record, ret). */
int ahead_state_read(const char *state_dir, struct phx_role *ret, struct phx_err *err);
int ahead_state_write(const char *state_dir, const struct phx_role *role, struct phx_err *err);
/** Remove that role's file: its services were stopped, or became those of the active role. No file
 * is no error. */
int ahead_state_remove(const char *state_dir, struct phx_err *err);

/** phx_record_file_recover() of a file in the state directory: that it was damaged is logged, with
 * `so`, what follows from it. 0, or an error. */
int state_recover(const char *path, size_t max, const struct phx_record *rec, void *ret,
		  const char *so, struct phx_err *err);

/** phx_role_identity() of the software that is really here: the role's packages, "none" as version
 * if a package is not current below `pkg_root`, and the system's own image. `ret` is "" without a
 * role. A machine without system.json (Phoenix did not deploy it) counts as having the role's
 * image. */
void state_identity(const char *state_dir, const char *pkg_root, const struct phx_role *role,
		    char *ret, size_t ret_size);

#endif
