/* iPXE scripts from templates: see deploy.h. Called by phxd for GET /boot/MAC,
 * on any HTTP thread; keeps nothing. Whatever stands in a script can be read by
 * everybody on the network who sits on the way; the token of a start, which is given to one address
 * alone, is good for one certificate. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "deploy/internal.h"

enum {
	TEMPLATE_MAX = 16384,
	CMDLINE_MAX = 1900, /* of the kernel's 2048, beside the words of the template */
};

struct word {
	const char *name, *value;
};

/* One line, and nothing that iPXE or the kernel would take for more than text. */
static bool plain(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || (unsigned char)*s > 0x7e || *s == '$' || *s == '`')
			return false;
	return true;
}

static const char *value_of(const struct word *words, size_t n, const char *name, size_t n_name)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(words[i].name) == n_name && !memcmp(words[i].name, name, n_name))
			return words[i].value;
	return NULL;
}

static unsigned line_of(const char *text, const char *p)
{
	unsigned line = 1;
	for (; text < p; text++)
		line += *text == '\n';
	return line;
}

/* Replace each @WORD@; another '@' stays. */
static int fill_in(const char *path, const char *text, const struct word *words, size_t n,
		   char **ret_text, struct phx_err *err)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	for (const char *p = text; *p;) {
		size_t k = *p == '@' ? strspn(p + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") : 0;
		if (!k || p[k + 1] != '@') {
			phx_buf_add(&b, p++, 1);
			continue;
		}
		const char *value = value_of(words, n, p + 1, k);
		if (!value)
			return phx_err_set(err, -EINVAL, "%s:%u: @%.*s@ is not known here", path,
					   line_of(text, p), (int)k, p + 1);
		if (!plain(value))
			return phx_err_set(
				err, -EINVAL,
				"%s:%u: the value of @%.*s@ cannot stand in an iPXE script", path,
				line_of(text, p), (int)k, p + 1);
		phx_buf_addf(&b, "%s", value);
		p += k + 2;
	}
	char *out = phx_buf_take(&b);
	if (!out)
		return -ENOMEM;
	*ret_text = out;
	return 0;
}

static int render(const struct phx_config *cfg, const char *template, const struct word *words,
		  size_t n, char **ret_text, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s", cfg->pxe_dir, template);
	PHX_AUTO_FREE char *text = NULL;
	int r = path ? phx_file_read(path, TEMPLATE_MAX, &text, NULL, err) : -ENOMEM;
	return r < 0 ? r : fill_in(path, text, words, n, ret_text, err);
}

/* 52:54:00:00:00:01 as the kernel and pxelinux write it */
static void hyphens(const char *mac, char ret[PHX_MAC_MAX])
{
	snprintf(ret, PHX_MAC_MAX, "%s", mac);
	for (char *p = ret; *p; p++)
		if (*p == ':')
			*p = '-';
}

static void url_of(const struct phx_config *cfg, const char *head, char *buf, size_t size)
{
	snprintf(buf, size, "http://%s:%u", head, cfg->http_port);
}

/* phx.http is where images are that anybody may have: an agent fetches its own there, if it knows
 * the place, without TLS. phx.beacon is the same place, for who says how far it got, and is always
 * told: what the machine says there is a claim in any case. */
void phx_boot_words(const struct phx_config *cfg, const char *head, const struct phx_image *image,
		    const char *token, const char *word, char ret[PHX_BOOT_WORDS_MAX])
{
	int n = snprintf(ret, PHX_BOOT_WORDS_MAX, "phx.server=%s:%u phx.image=%s phx.beacon=%s:%u",
			 head, cfg->https_port, image->digest, head, cfg->http_port);
	if (cfg->open_images && n > 0 && n < PHX_BOOT_WORDS_MAX)
		n += snprintf(ret + n, (size_t)(PHX_BOOT_WORDS_MAX - n), " phx.http=%s:%u", head,
			      cfg->http_port);
	if (word[0] && n > 0 && n < PHX_BOOT_WORDS_MAX)
		n += snprintf(ret + n, (size_t)(PHX_BOOT_WORDS_MAX - n), " phx.kernel=%s", word);
	if (token[0] && n > 0 && n < PHX_BOOT_WORDS_MAX)
		snprintf(ret + n, (size_t)(PHX_BOOT_WORDS_MAX - n), " phx.start=%s", token);
}

char *phx_kernel_line(const char *head, const char *role, const char *site)
{
	const char *const parts[] = {head, role, site};
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(parts); i++)
		if (parts[i] && parts[i][0])
			phx_buf_addf(&b, "%s%s", b.n ? " " : "", parts[i]);
	return b.failed ? NULL : b.n ? phx_buf_take(&b) : strdup("");
}

int phx_ipxe_boot_script(const struct phx_ipxe_boot *b, char **ret_text, struct phx_err *err)
{
	char url[96], head[PHX_BOOT_WORDS_MAX], mac[PHX_MAC_MAX];
	PHX_AUTO_FREE char *args = phx_kernel_line(b->cfg->kernel_args, b->args, b->site);
	if (!args)
		return -ENOMEM;
	if (!phx_image_boots(b->image))
		return phx_err_set(
			err, -EINVAL,
			"image %s is no initramfs: nodes cannot boot it over the network",
			b->image->name);
	url_of(b->cfg, b->head, url, sizeof(url));
	phx_boot_words(b->cfg, b->head, b->image, b->token, b->word, head);
	if (strlen(args) + strlen(head) > CMDLINE_MAX)
		return phx_err_set(err, -EINVAL,
				   "kernel_args of phoenix.conf, role and site are %zu bytes: the "
				   "kernel takes %zu",
				   strlen(args), (size_t)CMDLINE_MAX - strlen(head));
	hyphens(b->mac, mac);
	const struct word words[] = {
		{"URL", url},
		{"HEAD", head},
		{"MAC", mac},
		{"NODE", b->node[0] ? b->node : "unknown"},
		{"IMAGE", b->image->name},
		{"VERSION", b->image->version},
		{"KERNEL", b->own ? b->own->kernel : PHX_IMAGE_KERNEL},
		{"INITRD", PHX_IMAGE_INITRD},
		{"ARGS", args},
		{"SYSTEM", b->own ? b->system->name : ""},
		{"SYSTEM_VERSION", b->own ? b->system->version : ""},
		{"RELEASE", b->own ? b->own->release : ""},
		{"MODULES", b->own ? b->own->modules : ""},
	};
	return render(b->cfg, b->own ? "boot-own.ipxe" : "boot.ipxe", words, PHX_ARRAY_SIZE(words),
		      ret_text, err);
}

int phx_ipxe_refuse_script(const struct phx_config *cfg, const char *head, const char *mac_text,
			   const char *reason, char **ret_text, struct phx_err *err)
{
	char url[96], mac[PHX_MAC_MAX];
	url_of(cfg, head, url, sizeof(url));
	hyphens(mac_text, mac);
	const struct word words[] = {{"URL", url}, {"MAC", mac}, {"REASON", reason}};
	return render(cfg, "refuse.ipxe", words, PHX_ARRAY_SIZE(words), ret_text, err);
}
