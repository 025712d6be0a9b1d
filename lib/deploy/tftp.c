/* What TFTP serves: see deploy.h; who serves it: tftpd.c. Called by phxd at start. Only the iPXE
 * programs go over TFTP: all else is HTTP, which loses little where TFTP never ends. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "deploy/internal.h"

enum { PROGRAM_MAX = 4 << 20 };

static const char *const programs[] = {PHX_TFTP_BIOS, PHX_TFTP_UEFI};

static int copy_program(const char *from_dir, const char *to_dir, const char *name,
			struct phx_err *err)
{
	PHX_AUTO_FREE char *from = phx_path("%s/%s", from_dir, name);
	PHX_AUTO_FREE char *to = phx_path("%s/%s", to_dir, name);
	PHX_AUTO_FREE char *data = NULL;
	PHX_AUTO_FREE char *had = NULL;
	size_t n = 0, n_had = 0;
	if (!from || !to)
		return -ENOMEM;
	if (access(from, R_OK) < 0)
		return phx_err_set(err, -errno,
				   "%s: %s; install the package 'ipxe' or set ipxe_dir", from,
				   strerror(errno));
	int r = phx_file_read(from, PROGRAM_MAX, &data, &n, err);
	if (r < 0)
		return r;
	if (phx_file_read(to, PROGRAM_MAX, &had, &n_had, NULL) == 0 && n == n_had &&
	    !memcmp(data, had, n))
		return 0;
	return phx_file_write(to, data, n, 0644, err);
}

int phx_tftp_prepare(const struct phx_config *cfg, struct phx_err *err)
{
	int r = phx_dir_make(cfg->tftp_dir, 0755, err);
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(programs); i++)
		r = copy_program(cfg->ipxe_dir, cfg->tftp_dir, programs[i], err);
	return r;
}

char *phx_tftp_path(const struct phx_config *cfg, const char *file)
{
	for (size_t i = 0; i < PHX_ARRAY_SIZE(programs); i++)
		if (!strcmp(file, programs[i]))
			return phx_path("%s/%s", cfg->tftp_dir, file);
	return NULL;
}
