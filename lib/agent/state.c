/* Role, system and prefetch list of this node as files: see state.h. Called by
 * steps, link, prefetch and boot. Never starts or stops a service. */
#include "agent/state.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/record_file.h"
#include "agent/log.h"
#include "repo/repo.h"

enum { STATE_FILE_MAX = 1 << 20 };

PHX_RECORD_TABLE(role_state, ROLE_STATE_FIELDS);
PHX_RECORD_TABLE(system_state, SYSTEM_STATE_FIELDS);
PHX_RECORD_TABLE(prefetch_state, PREFETCH_STATE_FIELDS);

static int read_record(const char *dir, const char *name, const struct phx_record *rec, void *ret,
		       struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s", dir, name);
	return phx_record_file_read(path, STATE_FILE_MAX, rec, ret, err);
}

static int write_record(const char *dir, const char *name, const struct phx_record *rec,
			const void *obj, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s", dir, name);
	return phx_record_file_write(path, rec, obj, 0600, err);
}

int role_state_read(const char *state_dir, struct role_state *ret, struct phx_err *err)
{
	return read_record(state_dir, "role.json", &role_state_record, ret, err);
}

/* Files are replaced by a rename: a new file has another inode or another time of change. */
static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_size == b->st_size &&
		a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
		a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
		a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

const struct role_state *role_view_look(struct role_view *v, const char *state_dir)
{
	struct stat now = {0};
	PHX_AUTO_FREE char *path = phx_path("%s/role.json", state_dir);
	bool there = path && stat(path, &now) == 0;
	if (there && same_file(&now, &v->file))
		return &v->role;
	role_view_fini(v);
	if (there && role_state_read(state_dir, &v->role, NULL) == 0)
		v->file = now;
	else
		v->role = (struct role_state){0};
	return &v->role;
}

void role_view_fini(struct role_view *v)
{
	phx_record_fini(&role_state_record, &v->role);
	*v = (struct role_view){0};
}

int role_state_write(const char *state_dir, const struct role_state *s, struct phx_err *err)
{
	return write_record(state_dir, "role.json", &role_state_record, s, err);
}

int role_state_set_run(const char *state_dir, bool run, struct phx_err *err)
{
	struct role_state s;
	int r = role_state_read(state_dir, &s, err);
	if (r < 0)
		return r;
	if (s.run != run) {
		s.run = run;
		r = role_state_write(state_dir, &s, err);
	}
	phx_record_fini(&role_state_record, &s);
	return r;
}

static int remove_file(const char *dir, const char *name, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s", dir, name);
	if (!path)
		return -ENOMEM;
	if (unlink(path) < 0 && errno != ENOENT) {
		int r = -errno;
		return phx_err_set(err, r, "%s: %s", path, strerror(-r));
	}
	return 0;
}

int role_state_remove(const char *state_dir, struct phx_err *err)
{
	return remove_file(state_dir, "role.json", err);
}

int system_state_read(const char *state_dir, struct system_state *ret, struct phx_err *err)
{
	return read_record(state_dir, "system.json", &system_state_record, ret, err);
}

int system_state_write(const char *state_dir, const struct system_state *s, struct phx_err *err)
{
	return write_record(state_dir, "system.json", &system_state_record, s, err);
}

int prefetch_state_read(const char *state_dir, struct prefetch_state *ret, struct phx_err *err)
{
	return read_record(state_dir, "prefetch.json", &prefetch_state_record, ret, err);
}

int prefetch_state_write(const char *state_dir, const struct prefetch_state *s, struct phx_err *err)
{
	return write_record(state_dir, "prefetch.json", &prefetch_state_record, s, err);
}

int ahead_state_read(const char *state_dir, struct phx_role *ret, struct phx_err *err)
{
	return read_record(state_dir, "ahead.json", &phx_role_record, ret, err);
}

int ahead_state_write(const char *state_dir, const struct phx_role *role, struct phx_err *err)
{
	return write_record(state_dir, "ahead.json", &phx_role_record, role, err);
}

int ahead_state_remove(const char *state_dir, struct phx_err *err)
{
	return remove_file(state_dir, "ahead.json", err);
}

int state_recover(const char *path, size_t max, const struct phx_record *rec, void *ret,
		  const char *so, struct phx_err *err)
{
	struct phx_err why = {0};
	int r = phx_record_file_recover(path, max, rec, ret, &why);
	if (r > 0)
		agent_log("%s: %s", why.text, so);
	return r < 0 ? phx_err_set(err, r, "%s", why.text) : 0;
}

void state_identity(const char *state_dir, const char *pkg_root, const struct phx_role *role,
		    char *ret, size_t ret_size)
{
	struct phx_role actual;
	struct system_state system;
	ret[0] = '\0';
	if (!role || phx_record_copy(&phx_role_record, &actual, role) < 0)
		return;
	if (system_state_read(state_dir, &system, NULL) == 0) {
		PHX_STR_SET(actual.image, system.image);
		PHX_STR_SET(actual.image_version, system.version);
		PHX_STR_SET(actual.image_digest, system.digest);
	}
	PHX_LIST_EACH(struct phx_package_ref, p, &actual.packages)
		if (phx_package_current(pkg_root, p->name, p->version, NULL) < 0)
			PHX_STR_SET(p->version, "none");
	phx_role_identity(&actual, ret, ret_size);
	phx_record_fini(&phx_role_record, &actual);
}
