/* Which image an agreement chooses (cmd/phxd/re_image.c): the role's own where it will do, else the
 * only one that fits, in the version that is asked for; and what is refused, with the field of the
 * agreement that asks for it. Images and packages are what the test says. */
#include "fake/engine.h"

#include <errno.h>
#include <stdio.h>

#include "phxd/daemon.h"
#include "repo/repo.h"

static struct daemon head;
static struct phx_state core;
static struct phx_list kept; /* by name and version: struct phx_image */
static int list_result, package_result;
static struct phx_package package; /* of each name */
static unsigned n_listed;

static int fake_images_list(const char *dir, struct phx_list *ret, struct phx_list *ret_bad,
			    struct phx_err *err)
{
	assert_string_equal(dir, "/images");
	assert_null(ret_bad);
	assert_false(fake_engine_held); /* it reads files */
	n_listed++;
	if (list_result < 0)
		return phx_err_set(err, list_result, "/images: cannot be read");
	PHX_LIST_EACH(struct phx_image, im, &kept)
		if (phx_record_copy(&phx_image_record, phx_list_push(ret, sizeof(*im)), im) < 0)
			return -ENOMEM;
	return 0;
}

static int fake_repo_find(const char *dir, const char *ring, const char *name, const char *version,
			  char **ret_path, struct phx_package *ret, struct phx_err *err)
{
	assert_string_equal(dir, "/packages");
	assert_string_equal(ring, "/keys");
	assert_null(ret_path);
	assert_false(fake_engine_held);
	if (package_result < 0)
		return phx_err_set(err, package_result, "package %s-%s is not there", name,
				   version);
	*ret = package;
	PHX_STR_SET(ret->name, name);
	PHX_STR_SET(ret->version, version);
	return 0;
}

static char *fake_repo_ring(const char *key_dir, const char *run_dir)
{
	assert_string_equal(key_dir, "/keys");
	assert_string_equal(run_dir, "/run/phx");
	return strdup(key_dir);
}

#define phx_images_list fake_images_list
#define phx_repo_find fake_repo_find
#define phx_repo_ring fake_repo_ring
#include "phxd/re_image.c" /* a part of a program, not of the library */

/* Version NULL: the newest. */
int catalog_image(const struct daemon *d, const char *name, const char *version,
		  struct phx_image *ret, char ret_signature[PHX_SIG_HEX], struct phx_err *err)
{
	const struct phx_image *found = NULL;
	assert_ptr_equal(d, &head);
	assert_null(ret_signature);
	assert_false(fake_engine_held);
	PHX_LIST_EACH(struct phx_image, im, &kept)
		if (!strcmp(im->name, name) && (!version || !strcmp(im->version, version)))
			found = im;
	if (!found)
		return phx_err_set(err, -ENOENT, "there is no image %s %s", name,
				   version ? version : "");
	return phx_record_copy(&phx_image_record, ret, found);
}

static struct phx_image *add_image(const char *name, const char *version, const char *file)
{
	struct phx_image *im = phx_list_push(&kept, sizeof(*im));
	struct phx_image_file *f = phx_list_push(&im->files, sizeof(*f));
	PHX_STR_SET(im->name, name);
	PHX_STR_SET(im->version, version);
	PHX_STR_SET(im->architecture, "amd64");
	snprintf(im->digest, sizeof(im->digest), "digest-%s-%s", name, version);
	im->kind = strcmp(file, PHX_IMAGE_INITRD) ? PHX_IMAGE_ROOTFS : PHX_IMAGE_INITRAMFS;
	PHX_STR_SET(f->name, file);
	return im;
}

/* Role "compute" boots image "debian-12" 1 from disk, and has one package. */
static int setup(void **state)
{
	(void)state;
	head = (struct daemon){0};
	PHX_STR_SET(head.cfg.image_dir, "/images");
	PHX_STR_SET(head.cfg.package_dir, "/packages");
	PHX_STR_SET(head.cfg.package_key_dir, "/keys");
	PHX_STR_SET(head.cfg.run_dir, "/run/phx");
	core = (struct phx_state){0};
	fake_state = &core;
	struct phx_role *role = phx_list_push(&core.roles, sizeof(*role));
	struct phx_package_ref *p = phx_list_push(&role->packages, sizeof(*p));
	PHX_STR_SET(role->name, "compute");
	PHX_STR_SET(role->image, "debian-12");
	PHX_STR_SET(role->image_version, "1");
	role->boot = PHX_ROLE_BOOT_DISK;
	PHX_STR_SET(p->name, "mpi");
	PHX_STR_SET(p->version, "4.1");
	package = (struct phx_package){0};
	PHX_STR_SET(package.arch, "all");
	list_result = package_result = 0;
	n_listed = 0;
	add_image("debian-12", "1", PHX_IMAGE_ROOT_DISK);
	add_image("debian-12", "2", PHX_IMAGE_ROOT_DISK);
	add_image("deploy", "1", PHX_IMAGE_INITRD);
	add_image("rocky-9", "1", PHX_IMAGE_ROOT_DISK);
	add_image("rocky-9-small", "1", PHX_IMAGE_ROOT_RAM);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fake_engine_is_free();
	PHX_LIST_EACH(struct phx_role, role, &core.roles)
		phx_record_fini(&phx_role_record, role);
	phx_list_fini(&core.roles);
	phx_images_fini(&kept);
	kept = (struct phx_list){0};
	return 0;
}

static struct phx_agreement wishes(const char *operating_system, const char *image,
				   const char *version)
{
	struct phx_agreement a = {0};
	PHX_STR_SET(a.role, "compute");
	PHX_STR_SET(a.operating_system, operating_system);
	PHX_STR_SET(a.image, image);
	PHX_STR_SET(a.image_version, version);
	/* a client's own words, which nobody may believe */
	PHX_STR_SET(a.image_digest, "forged");
	PHX_STR_SET(a.image_kernel, "forged");
	return a;
}

/* "IMAGE VERSION DIGEST KERNEL" */
static void assert_chosen(struct phx_agreement a, const char *want)
{
	char is[300];
	struct phx_err err = {0};
	if (re_image_settle(&head, &a, false, &err) < 0)
		fail_msg("%s", err.text);
	snprintf(is, sizeof(is), "%s %s %s %s", a.image, a.image_version, a.image_digest,
		 a.image_kernel);
	assert_string_equal(is, want);
}

/* A refusal leaves no digest that the core would follow. */
static void assert_refused_to(bool packages, struct phx_agreement a, int code, const char *want)
{
	struct phx_err err = {0};
	assert_int_equal(re_image_settle(&head, &a, packages, &err), code);
	assert_string_equal(err.text, want);
	assert_string_equal(a.image_digest, "");
	assert_string_equal(a.image_kernel, "");
}

static void assert_refused(struct phx_agreement a, int code, const char *want)
{
	assert_refused_to(true, a, code, want);
}

/* ---- the role's own ---- */

/* Nodes then follow the role's image, whatever it becomes. */
static void the_roles_own_image_is_taken_where_it_will_do(void **state)
{
	(void)state;
	assert_chosen(wishes("", "", ""), "   ");
	assert_chosen(wishes("debian", "", ""), "   ");
	assert_chosen(wishes("debian 12", "", ""), "   ");
	assert_chosen(wishes("", "debian-12", ""), "debian-12   ");
	assert_chosen(wishes("debian", "debian-12", "1"), "debian-12 1  ");
	assert_int_equal(n_listed, 0);
}

/* What it says of that is better than what could be said here. */
static void a_role_that_is_not_there_is_left_to_the_core(void **state)
{
	struct phx_agreement a = wishes("rocky", "", "");
	(void)state;
	PHX_STR_SET(a.role, "nobody");
	assert_chosen(a, "   ");
}

/* ---- another one ---- */

static void the_image_that_fits_is_found_by_its_system(void **state)
{
	struct phx_image *rocky = PHX_LIST_AT(&kept, struct phx_image, 3);
	struct phx_image_own *own = phx_list_push(&rocky->kernels, sizeof(*own));
	(void)state;
	PHX_STR_SET(rocky->kernel_release, "5.14.0-362");
	PHX_STR_SET(own->release, "5.14.0-362");
	PHX_STR_SET(own->kernel, PHX_IMAGE_KERNEL);
	/* that of memory fits no role that boots from disk, and is not counted */
	assert_chosen(wishes("rocky", "", ""), "rocky-9 1 digest-rocky-9-1 5.14.0-362");
	assert_chosen(wishes("rocky 9", "", ""), "rocky-9 1 digest-rocky-9-1 5.14.0-362");
}

static void an_image_is_taken_in_the_version_that_is_asked_for(void **state)
{
	(void)state;
	assert_chosen(wishes("", "debian-12", "2"), "debian-12 2 digest-debian-12-2 ");
	assert_chosen(wishes("", "rocky-9", ""), "rocky-9 1 digest-rocky-9-1 ");
	add_image("rocky-9", "2", PHX_IMAGE_ROOT_DISK); /* the newest from now on */
	assert_chosen(wishes("", "rocky-9", ""), "rocky-9 2 digest-rocky-9-2 ");
}

static void a_role_in_memory_gets_an_image_for_memory(void **state)
{
	(void)state;
	PHX_LIST_AT(&core.roles, struct phx_role, 0)->boot = PHX_ROLE_BOOT_RAM;
	assert_chosen(wishes("rocky 9", "", ""), "rocky-9-small 1 digest-rocky-9-small-1 ");
	assert_refused(wishes("", "rocky-9", ""), -EINVAL,
		       "image: role 'compute' boots from ram, and image rocky-9 1 cannot");
}

/* ---- what is refused ---- */

static void no_image_fits(void **state)
{
	(void)state;
	assert_refused(wishes("plan 9", "", ""), -ENOENT,
		       "operating_system: no image that role 'compute' can boot is 'plan 9'; there "
		       "is debian-12, rocky-9");
	assert_refused(wishes("rock", "", ""), -ENOENT,
		       "operating_system: no image that role 'compute' can boot is 'rock'; there "
		       "is debian-12, rocky-9");
	phx_images_fini(&kept);
	kept = (struct phx_list){0};
	assert_refused(wishes("plan 9", "", ""), -ENOENT,
		       "operating_system: no image that role 'compute' can boot is 'plan 9'; there "
		       "is none");
}

static void several_images_fit(void **state)
{
	(void)state;
	add_image("rocky-9.4", "1", PHX_IMAGE_ROOT_DISK);
	add_image("rocky-9-gpu", "1", PHX_IMAGE_ROOT_DISK);
	assert_refused(wishes("rocky 9", "", ""), -EINVAL,
		       "operating_system: more than one image is 'rocky 9': name one (rocky-9, "
		       "rocky-9-gpu)");
	assert_chosen(wishes("rocky 9", "rocky-9-gpu", ""), "rocky-9-gpu 1 digest-rocky-9-gpu-1 ");
}

static void an_image_that_is_named_must_be_there_and_boot(void **state)
{
	(void)state;
	assert_refused(wishes("", "plan-9", ""), -ENOENT, "image: there is no image plan-9 ");
	assert_refused(wishes("", "debian-12", "7"), -ENOENT,
		       "image_version: there is no image debian-12 7");
	assert_refused(wishes("", "deploy", ""), -EINVAL,
		       "image: role 'compute' boots from disk, and image deploy 1 cannot");
	list_result = -EIO;
	assert_refused(wishes("rocky", "", ""), -EIO, "/images: cannot be read");
}

static void each_package_of_the_role_must_fit_the_image(void **state)
{
	(void)state;
	PHX_STR_SET(package.operating_system, "debian 12");
	assert_refused(wishes("rocky", "", ""), -EINVAL,
		       "operating_system: package mpi-4.1 of role 'compute' is for debian 12, and "
		       "image rocky-9 is not");
	PHX_STR_SET(package.operating_system, "rocky 9");
	assert_chosen(wishes("rocky", "", ""), "rocky-9 1 digest-rocky-9-1 ");
	PHX_STR_SET(package.arch, "arm64");
	assert_refused(wishes("rocky", "rocky-9", ""), -EINVAL,
		       "image: package mpi-4.1 of role 'compute' is for arm64, and image rocky-9 "
		       "for amd64");
	PHX_STR_SET(package.arch, "amd64");
	assert_chosen(wishes("rocky", "", ""), "rocky-9 1 digest-rocky-9-1 ");
	package_result = -EKEYREJECTED;
	assert_refused(wishes("rocky", "", ""), -EKEYREJECTED,
		       "operating_system: package mpi-4.1 is not there");
}

/* He is told what to change, and no names of packages, nor which versions there are. */
static void a_service_provider_is_told_less(void **state)
{
	static const char less[] = "operating_system: a package of role 'compute' is not there for "
				   "image rocky-9: the resource provider reads more of it";
	(void)state;
	PHX_STR_SET(package.operating_system, "debian 12");
	assert_refused_to(false, wishes("rocky", "", ""), -EINVAL, less);
	PHX_STR_SET(package.operating_system, "rocky 9");
	PHX_STR_SET(package.arch, "arm64");
	assert_refused_to(false, wishes("rocky", "", ""), -EINVAL, less);
	package_result = -EKEYREJECTED;
	assert_refused_to(false, wishes("rocky", "", ""), -EKEYREJECTED, less);
	assert_refused_to(false, wishes("", "deploy", ""), -EINVAL,
			  "image: role 'compute' boots from disk, and image deploy cannot");
	assert_refused_to(false, wishes("", "deploy", "1"), -EINVAL,
			  "image: role 'compute' boots from disk, and image deploy 1 cannot");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(the_roles_own_image_is_taken_where_it_will_do),
		T(a_role_that_is_not_there_is_left_to_the_core),
		T(the_image_that_fits_is_found_by_its_system),
		T(an_image_is_taken_in_the_version_that_is_asked_for),
		T(a_role_in_memory_gets_an_image_for_memory),
		T(no_image_fits),
		T(several_images_fit),
		T(an_image_that_is_named_must_be_there_and_boot),
		T(each_package_of_the_role_must_fit_the_image),
		T(a_service_provider_is_told_less),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
