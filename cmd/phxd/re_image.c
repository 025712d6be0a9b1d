/* Finds the image that an agreement chooses among the head's images when the RE is requested, so
 * that the core knows the image's digest. The role's own image is used if it matches; any other
 * must suit the way that the role boots, and all packages of the role must fit it. Called by the
 * API. */
#include <errno.h>
#include <string.h>

#include "deploy/store.h"
#include "phxd/daemon.h"
#include "repo/repo.h"

/* What the agreement asks for; messages name the field that asks for it, and its value. */
struct wish {
	const struct phx_agreement *agreement;
	struct phx_role role; /* owned */
	const char *field, *value;
	bool packages; /* who asks may know of packages, and which versions of images there are */
};

static void wish_fini(struct wish *w)
{
	phx_record_fini(&phx_role_record, &w->role);
}

static int find_role(struct daemon *d, const char *name, struct phx_role *ret)
{
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_role *role = phx_state_role(s, name);
	int r = role ? phx_record_copy(&phx_role_record, ret, role) : -ENOENT;
	engine_unlock(d->engine);
	return r;
}

/* Does the role's own image match the agreement? Then nodes follow the role's image. */
static bool role_does(const struct wish *w)
{
	const struct phx_agreement *g = w->agreement;
	return phx_agreement_is_system(g->operating_system, w->role.image) &&
		(!g->image[0] || phx_str_eq(g->image, w->role.image)) &&
		(!g->image_version[0] || phx_str_eq(g->image_version, w->role.image_version));
}

/* Can the role boot this image from where the role boots (disk or memory)? */
static bool boots(const struct wish *w, const struct phx_image *im)
{
	const char *file =
		phx_role_boot(&w->role)->on_disk ? PHX_IMAGE_ROOT_DISK : PHX_IMAGE_ROOT_RAM;
	return !phx_image_boots(im) && phx_image_file(im, file);
}

static void add_name(struct phx_buf *b, const char *name)
{
	phx_buf_addf(b, "%s%s", b->n ? ", " : "", name);
}

/* Finds the name of the image that fits, which must be the only one. The versions of an image are
 * adjacent in the list. */
static int find_name(const struct wish *w, const struct phx_list *images, char ret[PHX_NAME_MAX],
		     struct phx_err *err)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf fit = {0}, there = {0};
	const char *last = "";
	uint32_t n = 0;
	PHX_LIST_EACH(struct phx_image, im, images) {
		if (!boots(w, im) || phx_str_eq(im->name, last))
			continue;
		last = im->name;
		add_name(&there, im->name);
		if (!phx_agreement_is_system(w->agreement->operating_system, im->name))
			continue;
		add_name(&fit, im->name);
		n++;
		phx_str_copy(ret, PHX_NAME_MAX, im->name);
	}
	if (n == 1)
		return 0;
	if (n)
		return phx_err_set(err, -EINVAL, "%s: more than one image is '%s': name one (%s)",
				   w->field, w->value, fit.data);
	return phx_err_set(err, -ENOENT,
			   "%s: no image that role '%s' can boot is '%s'; there is %s", w->field,
			   w->role.name, w->value, there.n ? there.data : "none");
}

static int choose_name(struct daemon *d, const struct wish *w, char ret[PHX_NAME_MAX],
		       struct phx_err *err)
{
	struct phx_list images = {0};
	if (w->agreement->image[0])
		return phx_str_copy(ret, PHX_NAME_MAX, w->agreement->image);
	int r = phx_images_list(d->cfg.image_dir, &images, NULL, err);
	r = r ? r : find_name(w, &images, ret, err);
	phx_images_fini(&images);
	return r;
}

static int check_boot(const struct wish *w, const struct phx_image *im, struct phx_err *err)
{
	bool version = w->packages || w->agreement->image_version[0];
	if (boots(w, im))
		return 0;
	return phx_err_set(err, -EINVAL, "%s: role '%s' boots from %s, and image %s%s%s cannot",
			   w->field, w->role.name,
			   phx_enum_name(&phx_role_boot_names, w->role.boot), im->name,
			   version ? " " : "", version ? im->version : "");
}

/* What was found wrong with a package, for who may not know which it is. */
static int say_less(const struct wish *w, const struct phx_image *im, int r, struct phx_err *err)
{
	phx_err_clear(err);
	return phx_err_set(err, r,
			   "%s: a package of role '%s' is not there for image %s: the resource "
			   "provider reads more of it",
			   w->field, w->role.name, im->name);
}

static int check_package(struct daemon *d, const struct wish *w, const struct phx_image *im,
			 const struct phx_package_ref *ref, struct phx_err *err)
{
	PHX_AUTO_FREE char *ring = phx_repo_ring(d->cfg.package_key_dir, d->cfg.run_dir);
	struct phx_package p;
	int r = ring
		? phx_repo_find(d->cfg.package_dir, ring, ref->name, ref->version, NULL, &p, err)
		: -ENOMEM;
	if (r < 0)
		return phx_err_prefix(err, r, "%s", w->field);
	if (!phx_agreement_is_system(p.operating_system, im->name))
		return phx_err_set(err, -EINVAL,
				   "%s: package %s-%s of role '%s' is for %s, and image %s is not",
				   w->field, p.name, p.version, w->role.name, p.operating_system,
				   im->name);
	if (!phx_str_eq(p.arch, "all") && !phx_str_eq(p.arch, im->architecture))
		return phx_err_set(err, -EINVAL,
				   "%s: package %s-%s of role '%s' is for %s, and image %s for %s",
				   w->field, p.name, p.version, w->role.name, p.arch, im->name,
				   im->architecture);
	return 0;
}

static int find_image(struct daemon *d, const struct wish *w, struct phx_image *ret,
		      struct phx_err *err)
{
	const char *version = w->agreement->image_version;
	char name[PHX_NAME_MAX];
	int r = choose_name(d, w, name, err);
	if (r < 0)
		return r;
	r = catalog_image(d, name, version[0] ? version : NULL, ret, NULL, err);
	if (r < 0)
		return phx_err_prefix(err, r, "%s", version[0] ? "image_version" : w->field);
	r = check_boot(w, ret, err);
	PHX_LIST_EACH(struct phx_package_ref, ref, &w->role.packages)
		if (r == 0 && (r = check_package(d, w, ret, ref, err)) < 0 && !w->packages)
			say_less(w, ret, r, err);
	if (r < 0)
		phx_record_fini(&phx_image_record, ret);
	return r;
}

int re_image_settle(struct daemon *d, struct phx_agreement *g, bool packages, struct phx_err *err)
{
	PHX_AUTO(wish_fini) struct wish w = {.agreement = g, .packages = packages};
	struct phx_image im;
	g->image_digest[0] = g->image_kernel[0] = '\0'; /* only this function may set it */
	w.field = g->image[0] ? "image" : "operating_system";
	w.value = g->image[0] ? g->image : g->operating_system;
	if (!w.value[0] || find_role(d, g->role, &w.role) < 0 || role_does(&w))
		return 0; /* the core refuses a role that does not exist */
	int r = find_image(d, &w, &im, err);
	if (r < 0)
		return r;
	PHX_STR_SET(g->image, im.name);
	PHX_STR_SET(g->image_version, im.version);
	PHX_STR_SET(g->image_digest, im.digest);
	const struct phx_image_own *own = phx_image_own(&im, NULL);
	PHX_STR_SET(g->image_kernel, own ? own->release : "");
	phx_record_fini(&phx_image_record, &im);
	return 0;
}
