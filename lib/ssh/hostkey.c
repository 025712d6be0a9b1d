/* Is the machine that answers the one we know? Called by session.c before
 * anything of ours is sent. Learns no key: whoever wants to push to a new
 * machine puts its key into known_hosts first. */
#include "ssh/internal.h"

#include <errno.h>
#include <string.h>

#include "base/file.h"

#define KNOWN_HOSTS_MAX (4 << 20)

/* A line with a marker (@revoked, @cert-authority) changes what others mean, and
 * libssh2 would read it as a host name: such a file is refused. */
static int add_line(LIBSSH2_KNOWNHOSTS *known, const char *line, size_t n, struct phx_err *err)
{
	size_t blank = strspn(line, " \t\r");
	if (blank >= n || line[blank] == '#')
		return 0;
	if (line[blank] == '@')
		return phx_err_set(err, -EINVAL,
				   "marker lines (@revoked, @cert-authority) are not supported");
	if (libssh2_knownhost_readline(known, line, n, LIBSSH2_KNOWNHOST_FILE_OPENSSH) < 0)
		return phx_err_set(err, -EINVAL, "not a known_hosts line");
	return 0;
}

static int read_known(LIBSSH2_KNOWNHOSTS *known, const char *path, struct phx_err *err)
{
	PHX_AUTO_FREE char *text = NULL;
	size_t size;
	int r = phx_file_read(path, KNOWN_HOSTS_MAX, &text, &size, err);
	if (r < 0)
		return r;
	unsigned int number = 0;
	for (char *line = text; *line;) {
		size_t n = strcspn(line, "\n");
		bool last = !line[n];
		line[n] = '\0';
		number++;
		r = add_line(known, line, n, err);
		if (r < 0)
			return phx_err_prefix(err, r, "%s:%u", path, number);
		line += last ? n : n + 1;
	}
	return 0;
}

static int judge(int verdict, const struct phx_ssh *s, const struct phx_ssh_config *config,
		 struct phx_err *err)
{
	switch (verdict) {
	case LIBSSH2_KNOWNHOST_CHECK_MATCH:
		return 0;
	case LIBSSH2_KNOWNHOST_CHECK_MISMATCH:
		return phx_err_set(err, -EKEYREJECTED,
				   "%s: the host key has changed: it is not the one in %s (another "
				   "machine answers?)",
				   s->where, config->known_hosts_path);
	case LIBSSH2_KNOWNHOST_CHECK_NOTFOUND:
		return phx_err_set(
			err, -EKEYREJECTED,
			"%s: the host is unknown: no ed25519 key of it in %s (add it there first)",
			s->where, config->known_hosts_path);
	default:
		return phx_err_set(err, -EKEYREJECTED, "%s: the host key cannot be checked",
				   s->where);
	}
}

int phx_ssh_check_host(struct phx_ssh *s, const struct phx_ssh_config *config, struct phx_err *err)
{
	size_t n;
	int type;
	const char *key = libssh2_session_hostkey(s->session, &n, &type);
	if (!key || type != LIBSSH2_HOSTKEY_TYPE_ED25519)
		return phx_err_set(err, -EKEYREJECTED, "%s: no ed25519 host key", s->where);
	LIBSSH2_KNOWNHOSTS *known = libssh2_knownhost_init(s->session);
	if (!known)
		return -ENOMEM;
	int r = read_known(known, config->known_hosts_path, err);
	if (r == 0)
		r = judge(libssh2_knownhost_checkp(
				  known, config->host, config->port ? config->port : 22, key, n,
				  LIBSSH2_KNOWNHOST_TYPE_PLAIN | LIBSSH2_KNOWNHOST_KEYENC_RAW |
					  LIBSSH2_KNOWNHOST_KEY_ED25519,
				  NULL),
			  s, config, err);
	libssh2_knownhost_free(known);
	return r;
}
