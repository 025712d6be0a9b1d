/* Manifests of images, and image.conf. What is taken has its files, is written and read back the
 * same.
 * Parsers: lib/config/image.c */
#include "config/image.h"
#include "fuzz/fuzz.h"

static const struct phx_image deploy = {
	.name = "deploy", .version = "1", .kernel_release = "6.1.0-1-amd64"};

static void check(struct phx_image *im)
{
	struct phx_image again;
	struct phx_err err = {0};
	char why[400] = "";
	PHX_AUTO_FREE char *text = phx_image_format(im);
	fuzz_never(!text || !phx_image_file(im, PHX_IMAGE_KERNEL));
	PHX_LIST_EACH(struct phx_image_file, f, &im->files)
		fuzz_never(!phx_name_valid(f->name) || !f->size || strlen(f->sha256) != 64);
	fuzz_never(phx_image_kernel_differs(im, &deploy, why, sizeof(why)) && !why[0]);
	fuzz_never(phx_image_parse(text, strlen(text), "fuzz", &again, &err) < 0);
	PHX_STR_SET(again.digest, im->digest); /* of the text, which may be another one */
	fuzz_never(!phx_record_equal(&phx_image_record, im, &again));
	phx_record_fini(&phx_image_record, &again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	PHX_AUTO_FREE char *text = fuzz_text(data, n);
	struct phx_image im;
	struct phx_image_conf conf;
	struct phx_err err = {0};
	if (phx_image_parse(text, n, "fuzz", &im, &err) == 0) {
		check(&im);
		phx_record_fini(&phx_image_record, &im);
	} else {
		fuzz_never(!err.text[0]);
	}
	if (phx_image_conf_load(fuzz_file("image.conf", data, n), &conf, NULL) == 0)
		phx_record_fini(&phx_image_conf_record, &conf);
	return 0;
}
