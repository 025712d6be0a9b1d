/* See root.h. Called by deploy steps and by the local boot. Never writes to a
 * disk other than into the file systems of the installed system. */
#include "agent/root.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/file.h"
#include "base/json.h"
#include "agent/copy.h"
#include "agent/install.h"
#include "agent/layout.h"
#include "agent/log.h"
#include "agent/rekey.h"
#include "pki/sealed.h"

#define OLD_STATE "/run/phoenix/old-state"
#define NEXT "/run/phoenix/next"

enum { KEY_TIMEOUT_MS = 10000, ADOPT_MAX = 1 << 18 };

/* ---- mounting ---- */

bool root_mounted(void)
{
	struct stat root, above;
	return stat(ROOT_DIR, &root) == 0 && stat("/", &above) == 0 && root.st_dev != above.st_dev;
}

static int mount_ext4(const char *device, const char *dir, unsigned long flags, struct phx_err *err)
{
	int r = phx_dir_make(dir, 0755, err);
	if (r == 0 && mount(device, dir, "ext4", flags, "") < 0)
		r = phx_err_set(err, -errno, "%s: cannot be mounted: %s", device, strerror(errno));
	return r;
}

int root_unmount(struct phx_err *err)
{
	static const char *const dirs[] = {ROOT_STATE_DIR, ROOT_DIR, OLD_STATE};
	int r = layout_close(err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(dirs); i++)
		while (umount2(dirs[i], 0) == 0)
			;
	if (root_mounted())
		return phx_err_set(err, -EBUSY, ROOT_DIR ": cannot be unmounted");
	return phx_disk_lock(err);
}

int root_mount(const char *device, const char *state_device, struct phx_err *err)
{
	int r = mount_ext4(device, ROOT_DIR, MS_NOATIME, err);
	if (r == 0)
		r = mount_ext4(state_device, ROOT_STATE_DIR,
			       MS_NOATIME | MS_NOSUID | MS_NODEV | MS_NOEXEC, err);
	if (r < 0)
		root_unmount(NULL);
	return r;
}

/* ---- the installed system ---- */

/* Copies a file that an old tenant may have tampered with. It must be a regular file of at most
 * ADOPT_MAX bytes: one that is read without end, or waited for, would keep the node from being
 * enrolled and erased. */
static int adopt_file(int dir, const char *name, const char *state_dir, struct phx_err *err)
{
	char opened[32];
	uint64_t size;
	PHX_AUTO_FREE char *to = phx_path("%s/%s", state_dir, name);
	PHX_AUTO_CLOSE int from = to ? phx_beneath_open(dir, name, ADOPT_MAX, &size, err) : -ENOMEM;
	snprintf(opened, sizeof(opened), "/proc/self/fd/%d", from);
	return from < 0 ? from : copy_file(opened, to, err);
}

/* Nothing else of what an old tenant may have written is trusted: neither results of steps, which
 * would answer orders, nor an epoch, which would refuse them. */
int root_adopt_from(struct agent *a, const char *dir, bool with_key, struct phx_err *err)
{
	/* the key last: without its certificate it would count as one that was made here */
	static const struct {
		const char *name;
		bool of_key, may_lack;
	} files[] = {{"system.json", false, true},
		     {REKEY_FILE, true, true},
		     {"agent.pem", true, false},
		     {"agent.key", true, false}};
	PHX_AUTO_CLOSE int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = fd < 0 ? phx_err_set(err, -errno, "%s: %s", dir, strerror(errno)) : 0;
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(files); i++) {
		if (files[i].of_key && !with_key)
			continue;
		r = adopt_file(fd, files[i].name, a->cfg.state_dir, err);
		if (r == -ENOENT && files[i].may_lack) {
			phx_err_clear(err);
			r = 0;
		}
	}
	return r;
}

int root_adopt(struct agent *a, bool with_key, struct phx_err *err)
{
	struct phx_disk_system sys;
	struct phx_err why = {0};
	if (phx_disk_find_system(&sys, &why) < 0) {
		agent_log("no installed system: %s", why.text);
		return 0;
	}
	int r = mount_ext4(sys.state, OLD_STATE, MS_RDONLY, err);
	if (r < 0)
		return r;
	if (access(OLD_STATE "/agent.key", R_OK) == 0 && access(OLD_STATE "/agent.pem", R_OK) == 0)
		r = root_adopt_from(a, OLD_STATE, with_key, err);
	umount2(OLD_STATE, 0);
	return r;
}

int root_keep_state(struct agent *a, const char *state_device, struct phx_err *err)
{
	int r = mount_ext4(state_device, OLD_STATE, MS_NOATIME, err);
	if (r < 0)
		return r;
	r = install_state(a, OLD_STATE, err);
	if (umount2(OLD_STATE, 0) < 0 && r == 0)
		r = phx_err_set(err, -errno, "%s: cannot be unmounted: %s", state_device,
				strerror(errno));
	return r;
}

static int ask_key(struct phx_http_client *c, const char *key_id, const struct phx_key_ask *ask,
		   struct phx_key_sealed *ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("/v1/agent/disk-key/%s", key_id);
	PHX_AUTO_JSON json_t *body = phx_json_from_record(&phx_key_ask_record, ask);
	PHX_AUTO_JSON json_t *answer = NULL;
	if (!path || !body)
		return -ENOMEM;
	int r = phx_http_call_json(c, "POST", path, body, KEY_TIMEOUT_MS, &answer, err);
	return r ? r : phx_json_to_record(&phx_key_sealed_record, answer, ret, err);
}

int root_disk_key(const struct agent *a, struct phx_http_client *c, const char *key_id,
		  uint8_t ret_key[PHX_DISK_KEY_SIZE], struct phx_err *err)
{
	PHX_AUTO_FREE char *key = phx_path("%s/agent.key", a->cfg.state_dir);
	PHX_AUTO_FREE char *cert = phx_path("%s/agent.pem", a->cfg.state_dir);
	uint8_t private[PHX_SEALED_PUBLIC_SIZE];
	struct phx_key_ask ask;
	struct phx_key_sealed sealed;
	if (!key || !cert)
		return -ENOMEM;
	if (!phx_name_valid(key_id))
		return phx_err_set(err, -EINVAL, "disk key \"%s\": not a valid name", key_id);
	int r = phx_key_ask_make(key_id, a->boot_id, key, cert, &ask, private, err);
	if (r == 0) {
		r = ask_key(c, key_id, &ask, &sealed, err);
		r = r ? r : phx_key_open(&ask, key_id, private, &sealed, ret_key, err);
		phx_record_fini(&phx_key_ask_record, &ask);
		explicit_bzero(private, sizeof(private));
	}
	return r < 0 ? phx_err_prefix(err, r, "disk key %s", key_id) : 0;
}

static int unlock(const struct agent *a, struct phx_http_client *c,
		  const struct phx_disk_system *sys, char ret_root[64], struct phx_err *err)
{
	uint8_t key[PHX_DISK_KEY_SIZE];
	int r = root_disk_key(a, c, sys->luks_key_id, key, err);
	if (r == 0)
		r = phx_disk_unlock(sys, key, sizeof(key), ret_root, err);
	explicit_bzero(key, sizeof(key));
	return r;
}

int root_open(struct agent *a, struct phx_http_client *c, struct phx_err *err)
{
	struct phx_disk_system sys;
	char device[64];
	int r = root_unmount(err);
	if (r == 0)
		r = phx_disk_find_system(&sys, err);
	if (r < 0)
		return r;
	PHX_STR_SET(device, sys.root);
	if (sys.luks_key_id[0])
		r = unlock(a, c, &sys, device, err);
	return r ? r : root_mount(device, sys.state, err);
}

int root_open_installed(struct agent *a, struct phx_http_client *c, struct phx_err *err)
{
	int r = root_open(a, c, err);
	r = r ? r : layout_mount_saved(ROOT_STATE_DIR, ROOT_DIR, err);
	if (r < 0)
		root_unmount(NULL);
	return r;
}

/* ---- the end of the deploy environment ---- */

/* Ends the agent; what comes then is for /init. What was asked first counts. */
static int leave_for(struct agent *a, const char *next, struct phx_err *err)
{
	LOOP_HELD(a->loop);
	if (atomic_load(&a->leave))
		return 0;
	int r = phx_file_write(NEXT, next, strlen(next), 0644, err);
	if (r < 0)
		return r;
	sync();
	atomic_store(&a->leave, true);
	loop_quit(a->loop);
	return 0;
}

int root_power_off(struct agent *a, struct phx_err *err)
{
	return leave_for(a, "poweroff\n", err);
}

int root_check_kernel(const char *release, struct phx_err *err)
{
	struct utsname u;
	if (!release[0] || (uname(&u) == 0 && !strcmp(u.release, release)))
		return 0;
	return phx_err_set(err, -ENOEXEC,
			   "the system is to run under kernel %s of its image, and %s runs: was "
			   "this machine started by another server than the head?",
			   release, u.release);
}

int root_enter(struct agent *a, struct phx_err *err)
{
	struct stat st;
	if (!root_mounted())
		return phx_err_set(err, -ENOENT, "no system is mounted at " ROOT_DIR);
	if (lstat(ROOT_DIR "/sbin/init", &st) < 0)
		return phx_err_set(err, -ENOENT, "the system has no /sbin/init");
	int r = install_agent(a, ROOT_DIR, err);
	if (r == 0)
		r = install_state(a, ROOT_STATE_DIR, err);
	return r ? r : leave_for(a, "switch_root " ROOT_DIR " /sbin/init\n", err);
}
