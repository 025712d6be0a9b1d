/* What several power drivers need: password files and host addresses. Called
 * by the drivers only; keeps no secret longer than the caller does. */
#include "power/driver.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"

enum { SECRET_FILE_MAX = 4096 };

void phx_power_secret_free(char **secret)
{
	if (*secret)
		explicit_bzero(*secret, strlen(*secret));
	free(*secret);
	*secret = NULL;
}

static int check_private(const char *path, struct phx_err *err)
{
	struct stat st;
	if (stat(path, &st) < 0)
		return phx_err_set(err, -EINVAL, "password_file %s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return phx_err_set(err, -EINVAL, "password_file %s: not a regular file", path);
	if (st.st_mode & (S_IRWXG | S_IRWXO))
		return phx_err_set(err, -EINVAL,
				   "password_file %s: readable by others; its mode must be 0600",
				   path);
	return 0;
}

int phx_power_secret_read(const char *path, size_t max, char **ret_secret, struct phx_err *err)
{
	int r = check_private(path, err);
	if (r < 0)
		return r;
	PHX_AUTO_SECRET char *text = NULL;
	size_t n = 0;
	struct phx_err why = {0};
	r = phx_file_read(path, SECRET_FILE_MAX, &text, &n, &why);
	if (r < 0)
		return phx_err_set(err, -EINVAL, "password_file %s%s", why.text,
				   r == -EACCES
					   ? " (it must lie in bmc_dir, or where hands_paths of "
					     "phoenix.conf says)"
					   : "");
	size_t line = strcspn(text, "\r\n");
	if (line == 0 || line + strspn(text + line, "\r\n") != n)
		return phx_err_set(err, -EINVAL,
				   "password_file %s: must hold the password as its only line",
				   path);
	if (line > max)
		return phx_err_set(err, -EINVAL,
				   "password_file %s: a password has at most %zu characters here",
				   path, max);
	text[line] = '\0';
	*ret_secret = PHX_TAKE(text);
	return 0;
}

int phx_power_password_ready(const struct phx_bmc *bmc, struct phx_err *err)
{
	PHX_AUTO_SECRET char *secret = NULL;
	return bmc->password_file[0]
		? phx_power_secret_read(bmc->password_file, SIZE_MAX, &secret, err)
		: 0;
}

/* Letters, digits and what else stands in names and addresses; nothing that a
 * program could take for an option or a host range. */
static bool host_valid(const char *s)
{
	static const char CHARS[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:";
	return s[0] && s[0] != '-' && !s[strspn(s, CHARS)];
}

int phx_power_host_parse(const char *text, uint16_t default_port, struct phx_power_host *ret,
			 struct phx_err *err)
{
	struct phx_power_host host = {.port = default_port};
	const char *begin = text, *end = strchr(text, ':'), *port = end;
	bool v6 = false;
	if (*text == '[') {
		begin = text + 1;
		end = strchr(begin, ']');
		port = end ? end + 1 : NULL;
		v6 = true;
	} else if (end && strchr(end + 1, ':')) { /* a bare IPv6 address */
		end = port = NULL;
		v6 = true;
	}
	size_t n = end ? (size_t)(end - begin) : strlen(begin);
	if (n >= sizeof(host.name))
		return phx_err_set(err, -EINVAL, "address '%s': too long", text);
	memcpy(host.name, begin, n);
	uint64_t value = default_port;
	if (port && *port && (*port != ':' || phx_u64_parse(port + 1, 1, UINT16_MAX, &value) < 0))
		return phx_err_set(err, -EINVAL, "address '%s': HOST or HOST:PORT is expected",
				   text);
	if (!host_valid(host.name) || (*text == '[' && !end) || (!v6 && strchr(host.name, ':')))
		return phx_err_set(err, -EINVAL, "address '%s': HOST or HOST:PORT is expected",
				   text);
	host.port = (uint16_t)value;
	*ret = host;
	return 0;
}
