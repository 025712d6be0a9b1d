/* Files for booting machines and agents: iPXE scripts, images, packages. Called by way of
 * routes.def. Changes nothing. */
#include "phxd/daemon.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "deploy/store.h"
#include "phxd/site.h"
#include "phxd/starts.h"
#include "phxd/view_hide.h"
#include "pki/token.h"

static void reply_script(struct phx_http_request *q, int r, char *text, const struct phx_err *err)
{
	if (r < 0)
		phx_http_reply_error(q, r, err->text);
	else
		phx_http_reply_text(q, 200, "text/plain", text);
	free(text);
}

/* Whose kernel the machine is to boot, and which. -ENOENT: the image is gone, or has it no more. */
static int find_own(struct daemon *d, const struct phx_kernel *k, struct phx_image *system,
		    struct phx_ipxe_boot *boot, char word[PHX_KERNEL_WORD_MAX], struct phx_err *err)
{
	boot->args = k->args;
	boot->word = word;
	phx_kernel_word(k->release, k->args, word);
	int r = k->image[0] ? catalog_image(d, k->image, k->version, system, NULL, err) : 0;
	if (r < 0)
		return phx_err_prefix(err, r, "image %s %s", k->image, k->version);
	boot->system = system;
	boot->own = k->image[0] ? phx_image_own(system, k->release) : NULL;
	return boot->own || !k->image[0]
		? 0
		: phx_err_set(err, -ENOENT, "image %s %s has no kernel %s with its modules",
			      k->image, k->version, k->release);
}

void api_boot(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	char mac[PHX_MAC_MAX], name[PHX_NAME_MAX], reason[256] = "";
	char token[PHX_START_TOKEN_MAX], head[PHX_IPV4_MAX], word[PHX_KERNEL_WORD_MAX];
	struct phx_err err = {0};
	char *text = NULL;
	if (phx_mac_parse(phx_http_param(q, 0), mac) < 0) {
		phx_http_reply_error(q, -EINVAL, "boot/MAC: that is no MAC address");
		return;
	}
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_boot its = phx_core_boot(s, mac, phx_http_peer(q)->address);
	const struct phx_node *n = phx_state_node(s, its.node);
	PHX_STR_SET(name, its.node);
	if (n)
		PHX_STR_SET(reason, n->reason);
	engine_unlock(d->engine);
	/* whoever knows the MAC address is told it, without a name */
	view_hide(reason, VIEW_HIDE_ALL, false);
	keys_start_token(d->keys, name, its.start, token);
	site_head(d, phx_http_peer(q)->address, head);
	if (its.choice == PHX_BOOT_REFUSE) {
		int r = phx_ipxe_refuse_script(&d->cfg, head, mac, reason, &text, &err);
		starts_script(d, q, mac, "", reason[0] ? reason : "this machine is not to boot");
		reply_script(q, r, text, &err);
		return;
	}
	struct phx_ipxe_boot boot = {&d->cfg, .mac = mac, .node = name, .token = token,
				     .head = head};
	PHX_AUTO_FREE char *site = site_kernel_args(d->site, name);
	boot.site = site;
	struct phx_image im, system = {0};
	int r = catalog_use_deploy(d, "phxd", &im, &err);
	if (r == 0) {
		boot.image = &im;
		r = find_own(d, &its.kernel, &system, &boot, word, &err);
		r = r ? r : phx_ipxe_boot_script(&boot, &text, &err);
		phx_record_fini(&phx_image_record, &im);
		phx_record_fini(&phx_image_record, &system);
	}
	starts_script(d, q, mac, boot.image && r == 0 ? "the deploy image" : "",
		      r < 0 ? err.text : NULL);
	if (r < 0) {
		/* the script shows the reason and asks again, so the machine boots as soon as the
		 * image is there */
		r = phx_ipxe_refuse_script(&d->cfg, head, mac, err.text, &text, &err);
	}
	reply_script(q, r, text, &err);
}

static const char *last_word(struct phx_http_request *q)
{
	const char *slash = strrchr(phx_http_path(q), '/');
	return slash ? slash + 1 : "";
}

static void reply_image_file(struct daemon *d, struct phx_http_request *q)
{
	struct phx_err err = {0};
	char digest[65] = "";
	PHX_AUTO_FREE char *path = NULL;
	struct phx_image im;
	int r = catalog_image(d, phx_http_param(q, 0), phx_http_param(q, 1), &im, NULL, &err);
	if (r == 0)
		phx_record_fini(&phx_image_record, &im);
	r = r ? r
	      : phx_images_file(d->cfg.image_dir, phx_http_param(q, 0), phx_http_param(q, 1),
				last_word(q), &path, digest, &err);
	if (r < 0) {
		starts_no_file(d, q, err.text);
		phx_http_reply_error(q, r, err.text);
	} else {
		phx_http_reply_file(q, path, digest, "application/octet-stream");
	}
}

/* Images to boot must be public: firmware fetches them, without any identity. Of a system these are
 * its kernels and their modules; its root, in which there may be secrets, is for its nodes. */
static bool is_open(struct daemon *d, struct phx_http_request *q)
{
	struct phx_image im;
	if (d->cfg.open_images)
		return true;
	if (phx_images_find(d->cfg.image_dir, phx_http_param(q, 0), phx_http_param(q, 1), &im,
			    NULL) < 0)
		return false;
	bool boots = phx_image_boots(&im) || phx_image_is_own(&im, last_word(q));
	phx_record_fini(&phx_image_record, &im);
	return boots;
}

/* Does an order of the asking node name the image? False after answering. */
static bool is_ordered(struct daemon *d, struct phx_http_request *q)
{
	char node[PHX_NAME_MAX];
	if (!phx_http_peer(q)->has_cert) {
		static const char why[] =
			"there is no such image that boots: a node fetches others by HTTPS when it "
			"is ordered to deploy them (open_images is off)";
		starts_no_file(d, q, why);
		phx_http_reply_error(q, -ENOENT, why);
		return false;
	}
	if (!person_agent(d, q, node))
		return false;
	const struct phx_state *s = engine_lock(d->engine);
	bool given = phx_core_gives_image(s, node, phx_http_param(q, 0), phx_http_param(q, 1));
	engine_unlock(d->engine);
	if (!given)
		phx_http_reply_error(q, -ENOENT, "no order of this node names that image");
	return given;
}

void api_image_file(struct phx_http_request *q, void *arg)
{
	if (is_open(arg, q) || is_ordered(arg, q))
		reply_image_file(arg, q);
}

void api_site_cpio(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	PHX_AUTO_FREE char *path = phx_path("%s/site.cpio", d->cfg.run_dir);
	if (path)
		phx_http_reply_file(q, path, NULL, "application/octet-stream");
	else
		phx_http_reply_error(q, -ENOMEM, "no memory");
}

void api_ipxe_file(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	PHX_AUTO_FREE char *path = phx_tftp_path(&d->cfg, phx_http_param(q, 0));
	if (path)
		phx_http_reply_file(q, path, NULL, "application/octet-stream");
	else
		phx_http_reply_error(q, -ENOENT, "there is no such file");
}

void api_package_file(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	const char *file = phx_http_param(q, 0);
	char node[PHX_NAME_MAX];
	if (!person_agent(d, q, node))
		return;
	if (strchr(file, '/') || file[0] == '.') {
		phx_http_reply_error(q, -EINVAL, "packages/FILE: a plain file name is wanted");
		return;
	}
	const struct phx_state *s = engine_lock(d->engine);
	bool given = phx_core_gives_package(s, node, file);
	engine_unlock(d->engine);
	if (!given) {
		phx_http_reply_error(q, -ENOENT, "no order of this node names that package");
		return;
	}
	PHX_AUTO_FREE char *path = phx_path("%s/%s", d->cfg.package_dir, file);
	if (path)
		phx_http_reply_file(q, path, NULL, "application/octet-stream");
	else
		phx_http_reply_error(q, -ENOMEM, "no memory");
}
