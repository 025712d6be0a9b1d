/* See catalog.h. Called by phxd for GET /v1/images and by `phx image` for a
 * directory. Reads only. */
#include "deploy/catalog.h"

#include "base/file.h"
#include "base/json.h"

static json_t *image_json(const struct phx_image *im, const struct phx_image *deploy,
			  const char *signed_by)
{
	char why[PHX_ERR_TEXT_MAX];
	json_t *j = phx_json_from_record(&phx_image_record, im);
	const struct phx_image_own *own = phx_image_own(im, NULL);
	const char *runs = phx_image_boots(im) || own ? im->kernel_release : deploy->kernel_release;
	json_object_set_new(j, "own_kernel", json_string(own ? own->release : ""));
	json_object_set_new(j, "runs_kernel", json_string(runs));
	if (runs[0] && phx_image_kernel_differs(im, deploy, why, sizeof(why)))
		json_object_set_new(j, "kernel_warning", json_string(why));
	json_object_set_new(j, "signed_by", json_string(signed_by));
	return j;
}

/* One of the two lists has it then. */
static void put_image(const char *dir, const struct phx_image *im, const struct phx_image *deploy,
		      const struct phx_image_trust *trust, json_t *list, json_t *bads)
{
	char name[PHX_NAME_MAX];
	struct phx_err why = {0};
	if (phx_images_signed_by(dir, im, trust, name, NULL, &why) == 0) {
		json_array_append_new(list, image_json(im, deploy, name));
		return;
	}
	PHX_AUTO_FREE char *path = phx_path("%s/%s/%s", dir, im->name, im->version);
	json_array_append_new(
		bads, json_pack("{s:s, s:s}", "path", path ? path : "", "reason", why.text));
}

json_t *phx_images_json(const char *dir, const char *deploy_image,
			const struct phx_image_trust *trust, struct phx_err *err)
{
	struct phx_list images = {0}, bad = {0};
	struct phx_image deploy = {0};
	if (phx_images_list(dir, &images, &bad, err) < 0)
		return NULL;
	phx_images_find(dir, deploy_image, NULL, &deploy, NULL);
	json_t *list = json_array(), *bads = json_array();
	PHX_LIST_EACH(struct phx_image, im, &images)
		put_image(dir, im, &deploy, trust, list, bads);
	PHX_LIST_EACH(struct phx_image_bad, b, &bad)
		json_array_append_new(
			bads, json_pack("{s:s, s:s}", "path", b->path, "reason", b->reason));
	phx_record_fini(&phx_image_record, &deploy);
	phx_images_fini(&images);
	phx_list_fini(&bad);
	return json_pack("{s:o, s:o}", "images", list, "bad", bads);
}
