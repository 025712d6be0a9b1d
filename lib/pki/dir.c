/* Files of a PKI's directory. Called by site.c and ca.c, which know what they are for. */
#include "pki/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

/* Daemon and command line may come at the same time: one makes or changes, the other finds. */
int phx_pki_lock(const char *dir, struct phx_err *err)
{
	int r = phx_dir_make(dir, 0700, err);
	if (r < 0)
		return r;
	PHX_AUTO_CLOSE int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fchmod(fd, 0700) < 0 || flock(fd, LOCK_EX) < 0)
		return phx_err_set(err, -errno, "%s: %s", dir, strerror(errno));
	int locked = fd;
	fd = -1;
	return locked;
}

int phx_pki_read_pem(const char *dir, const char *name, char **ret_pem, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s", dir, name);
	if (!path)
		return -ENOMEM;
	if (access(path, F_OK) < 0 && errno == ENOENT)
		return 1;
	return phx_file_read(path, PHX_PEM_MAX, ret_pem, NULL, err);
}

int phx_pki_write_pem(const char *dir, const char *name, const char *pem, mode_t mode,
		      struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s", dir, name);
	if (!path || !pem)
		return phx_pki_fail(err, -ENOMEM, "%s/%s: cannot be made", dir, name);
	return phx_file_write(path, pem, strlen(pem), mode, err);
}

int phx_pki_open_key(const char *dir, const char *name, const char *type, EVP_PKEY **ret_key,
		     struct phx_err *err)
{
	PHX_AUTO_SECRET char *pem = NULL;
	int r = phx_pki_read_pem(dir, name, &pem, err);
	if (r < 0)
		return r;
	if (r == 1 && !type)
		return phx_err_set(
			err, -ENOENT,
			"%s/%s: missing, but files made with this key are there; restore it", dir,
			name);
	PHX_AUTO_KEY EVP_PKEY *key = NULL;
	if (r == 0) {
		key = phx_pki_key_parse(pem, name, err);
		if (!key)
			return phx_err_prefix(err, -EINVAL, "%s", dir);
	} else {
		key = phx_pki_key_new(type, err);
		if (!key)
			return -EIO;
		pem = phx_pki_key_pem(key);
		r = phx_pki_write_pem(dir, name, pem, 0600, err);
		if (r < 0)
			return r;
	}
	*ret_key = PHX_TAKE(key);
	return 0;
}
