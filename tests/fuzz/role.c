/* Role files. Names in them are looked up: those that begin with 'x' do not exist. What is taken
 * passes its own check and has an order of its services.
 * Parsers: lib/config/role.c lib/types/role.c */
#include <errno.h>

#include "base/version.h"
#include "config/role.h"
#include "fuzz/fuzz.h"

static int image(void *arg, const char *name, const char *version, char ret_version[PHX_NAME_MAX],
		 char ret_digest[65], char ret_kernel[PHX_RELEASE_MAX], struct phx_err *err)
{
	(void)arg;
	if (name[0] == 'x')
		return phx_err_set(err, -ENOENT, "no image %s", name);
	memset(ret_digest, 'a', 64);
	ret_digest[64] = '\0';
	ret_kernel[0] = '\0';
	return phx_str_copy(ret_version, PHX_NAME_MAX, version ? version : "1");
}

static int package(void *arg, const char *name, const char *version, struct phx_package_ref *ret,
		   struct phx_err *err)
{
	(void)arg;
	if (name[0] == 'x' || (!version && strchr(name, '-')))
		return phx_err_set(err, -ENOENT, "no package %s", name);
	PHX_STR_SET(ret->version, version ? version : "1");
	return PHX_STR_SET(ret->name, name);
}

static int pool(void *arg, const char *name, struct phx_err *err)
{
	(void)arg;
	return name[0] == 'x' ? phx_err_set(err, -EIO, "the disk is gone") : 0;
}

static int kernel(void *arg, const char *of, const char *version, const char *release,
		  struct phx_err *err)
{
	(void)arg;
	fuzz_never(of[0] == 'x' || !version[0] || !release[0]);
	return release[0] == 'x' ? phx_err_set(err, -ENOENT, "no kernel %s", release) : 0;
}

/* A role takes nothing of itself back; of what was newer it does only what its file names. */
static void go_back(const struct phx_role *role)
{
	struct phx_role newer = *role;
	struct phx_err err = {0};
	fuzz_never(phx_role_not_older(role, role, NULL) < 0);
	PHX_STR_SET(newer.image_version, "99999999999");
	bool back = role->image_version[0] &&
		phx_version_compare(role->image_version, newer.image_version) < 0;
	int r = phx_role_not_older(&newer, role, &err);
	fuzz_never(r == 0 && !role->allow_older.n && back);
	fuzz_never(r < 0 && !err.text[0]);
	fuzz_never(!phx_role_boot(role));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const struct phx_role_lookup lookup = {
		.image = image, .package = package, .pool = pool, .kernel = kernel};
	struct phx_role role;
	struct phx_list roles = {0}, bad = {0};
	struct phx_err err = {0};
	char identity[200], address[PHX_WEB_ADDRESS_MAX];
	uint32_t order[64];
	const char *path = fuzz_file("batch.conf", data, n);
	int r = phx_role_load(path, n & 1 ? &lookup : NULL, &role, &err);
	if (r == 0) {
		fuzz_never(phx_role_check(&role, NULL) < 0 || role.services.n > 64);
		fuzz_never(phx_role_order(&role, order, NULL) < 0);
		phx_role_identity(&role, identity, sizeof(identity));
		fuzz_never(phx_role_web_address(&role.web, 0, address) != !!role.web.address[0]);
		go_back(&role);
		phx_record_fini(&phx_role_record, &role);
	} else {
		fuzz_never(!err.text[0]);
	}
	fuzz_never(phx_roles_load(fuzz_dir(), n & 1 ? &lookup : NULL, &roles, &bad, NULL) < 0);
	fuzz_never(roles.n != (r == 0) || bad.n != (r < 0));
	phx_roles_fini(&roles);
	phx_list_fini(&bad);
	return 0;
}
