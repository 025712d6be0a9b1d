/* What containers say of themselves in JSON. Digests become paths, so they are digests.
 * Parsers: lib/deploy/oci.c */
#include "deploy/oci.h"
#include "fuzz/fuzz.h"

static bool is_digest(const char *s)
{
	return phx_str_starts(s, "sha256:") && phx_is_hex(s + 7, 64);
}

static void check_refs(const struct phx_list *refs, bool digests)
{
	const struct phx_oci_ref *ref;
	struct phx_err err = {0};
	fuzz_never(refs->n > PHX_OCI_REFS_MAX);
	PHX_LIST_EACH(struct phx_oci_ref, r, refs) {
		fuzz_never(digests != is_digest(r->digest));
		if (r->tag[0] && phx_oci_choose(refs, r->tag, &ref, NULL) == 0)
			fuzz_never(ref->image != r->image);
	}
	fuzz_never(phx_oci_choose(refs, "", &ref, &err) < 0 && !err.text[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	PHX_AUTO_FREE char *text = fuzz_text(data, n);
	struct phx_list refs = {0};
	struct phx_oci_image im;
	struct phx_err err = {0};
	if (phx_oci_index_parse(text, n, &refs, &err) == 0)
		check_refs(&refs, true);
	else
		fuzz_never(!err.text[0] || refs.items);
	phx_list_fini(&refs);
	if (phx_oci_docker_parse(text, n, &refs, NULL) == 0)
		check_refs(&refs, false);
	phx_list_fini(&refs);
	if (phx_oci_manifest_parse(text, n, &im, NULL) == 0) {
		fuzz_never(!is_digest(im.config) || !im.layers.n);
		PHX_LIST_EACH(struct phx_oci_layer, l, &im.layers)
			fuzz_never(!is_digest(l->digest));
	}
	if (phx_oci_config_parse(text, n, &im, NULL) == 0)
		fuzz_never(!im.architecture[0] || !im.os[0] || strchr(im.title, '\n'));
	fuzz_never(!phx_oci_architecture("x86_64")[0]);
	phx_oci_image_fini(&im);
	return 0;
}
