/* SSH public keys: see site.h. Called by check.c, and by whoever prints what nodes report. Pure. */
#include <errno.h>
#include <string.h>

#include "site/site.h"

static const char *const types[] = {
	"ssh-ed25519",
	"ssh-rsa",
	"ecdsa-sha2-nistp256",
	"ecdsa-sha2-nistp384",
	"ecdsa-sha2-nistp521",
	"sk-ssh-ed25519@openssh.com",
	"sk-ecdsa-sha2-nistp256@openssh.com",
};
static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

enum { KEY_MAX = 8192, HEAD_MAX = 64 };

/* Decodes the first bytes. Returns how many, at most `max`. */
static size_t decode(const char *text, size_t n, unsigned char *ret, size_t max)
{
	uint32_t bits = 0, n_bits = 0;
	size_t made = 0;
	for (size_t i = 0; i < n && made < max && text[i] != '='; i++) {
		bits = bits << 6 | (uint32_t)(strchr(digits, text[i]) - digits);
		n_bits += 6;
		if (n_bits >= 8) {
			n_bits -= 8;
			ret[made++] = (unsigned char)(bits >> n_bits & 255);
		}
	}
	return made;
}

/* Are all of them digits, with the padding that their number wants? */
static bool is_base64(const char *text, size_t n)
{
	size_t plain = strspn(text, digits);
	plain = plain > n ? n : plain;
	size_t pad = n - plain;
	return n && n % 4 == 0 && pad <= 2 && strspn(text + plain, "=") >= pad;
}

static bool names_type(const char *text, size_t n, const char *type)
{
	unsigned char head[HEAD_MAX];
	size_t n_type = strlen(type), made = decode(text, n, head, sizeof(head));
	return made >= 4 + n_type && !head[0] && !head[1] && !head[2] && head[3] == n_type &&
		!memcmp(head + 4, type, n_type);
}

static const char *type_of(const char *line, size_t n)
{
	for (size_t i = 0; i < PHX_ARRAY_SIZE(types); i++)
		if (strlen(types[i]) == n && !strncmp(line, types[i], n))
			return types[i];
	return NULL;
}

static bool is_one_line(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 127)
			return false;
	return true;
}

int phx_site_key_check(const char *line, struct phx_err *err)
{
	size_t n_type = strcspn(line, " ");
	const char *type = type_of(line, n_type), *text = line + n_type;
	if (strlen(line) > KEY_MAX || !is_one_line(line))
		return phx_err_set(err, -EINVAL, "must be one line of at most %d bytes", KEY_MAX);
	if (!type)
		return phx_err_set(err, -EINVAL,
				   "begins with '%.*s', which is no type of key: ssh-ed25519, "
				   "ssh-rsa, ecdsa-sha2-nistp256 (384, 521), or sk-... of these",
				   n_type > 40 ? 40 : (int)n_type, line);
	text += strspn(text, " ");
	size_t n = strcspn(text, " ");
	if (!is_base64(text, n))
		return phx_err_set(err, -EINVAL,
				   "is not whole: behind its type comes the key in base64, as "
				   "ssh-keygen writes it");
	return names_type(text, n, type)
		? 0
		: phx_err_set(err, -EINVAL, "is of another type than %s, or damaged", type);
}
