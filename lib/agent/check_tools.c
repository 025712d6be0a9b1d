/* Fetches and mounts the programs of a check: see check_tools.h. Called by step_check.c. They stay
 * until the machine leaves the deploy environment. */
#include "agent/check_tools.h"

#include <errno.h>
#include <string.h>
#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/vfs.h>

#include "agent/fetch.h"
#include "agent/loop_device.h"
#include "agent/order.h"
#include "base/file.h"
#include "config/image.h"

#define TOOLS_FILE CHECK_TOOLS_DIR ".squashfs"
#define TOOLS_NOTE CHECK_TOOLS_DIR ".sha256"
#define TOOLS_MAX (1ull << 30)

static const char *const tools_env[] = {
	"PATH=" CHECK_TOOLS_DIR "/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	"LD_LIBRARY_PATH=" CHECK_TOOLS_DIR "/lib", "LC_ALL=C", NULL};

static int mount_file(struct phx_err *err)
{
	char loop[64];
	PHX_AUTO_CLOSE int keep = loop_device_attach(TOOLS_FILE, loop, err);
	int r = keep < 0 ? keep : phx_dir_make(CHECK_TOOLS_DIR, 0755, err);
	if (r == 0 && mount(loop, CHECK_TOOLS_DIR, "squashfs", MS_RDONLY | MS_NODEV, "") < 0)
		r = phx_err_set(err, -errno, "%s: %s", TOOLS_FILE, strerror(errno));
	return r;
}

/* Are they there already, of the file with this digest? */
static bool are_there(const char *sha256)
{
	struct statfs fs;
	PHX_AUTO_FREE char *had = NULL;
	return statfs(CHECK_TOOLS_DIR, &fs) == 0 && fs.f_type == SQUASHFS_MAGIC &&
		phx_file_read(TOOLS_NOTE, 256, &had, NULL, NULL) == 0 && phx_str_eq(had, sha256);
}

static int bring(struct step_run *s, const struct phx_image *image,
		 const struct phx_image_file *file, struct phx_err *err)
{
	const struct fetch_stop stop = {step_cancelled, s};
	struct phx_http_client *c = NULL;
	PHX_AUTO_FREE char *path =
		phx_path("/images/%s/%s/%s", image->name, image->version, file->name);
	while (umount2(CHECK_TOOLS_DIR, 0) == 0)
		;
	int r = path ? phx_dir_make("/run/phoenix", 0755, err) : -ENOMEM;
	r = r ? r : step_image_client(s, &c, err);
	r = r ? r
	      : fetch_file(c, path, TOOLS_FILE, file->size, TOOLS_MAX, file->sha256, &stop, err);
	phx_http_client_free(c);
	r = r ? r : mount_file(err);
	return r ? r : phx_file_write(TOOLS_NOTE, file->sha256, strlen(file->sha256), 0600, err);
}

int check_tools(struct step_run *s, const char *const **ret_env, struct phx_err *err)
{
	struct phx_image image = {0};
	*ret_env = NULL;
	if (!s->agent->cfg.whole_machine || !json_object_get(s->extra, "image"))
		return 0;
	int r = order_image_believed(&s->agent->cfg, s->extra, "image", &image, err);
	if (r < 0)
		return r;
	const struct phx_image_file *file = phx_image_file(&image, PHX_IMAGE_CHECK);
	if (file) {
		r = are_there(file->sha256) ? 0 : bring(s, &image, file, err);
		*ret_env = r == 0 ? tools_env : NULL;
	}
	phx_record_fini(&phx_image_record, &image);
	return r;
}
