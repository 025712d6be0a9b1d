/* RE agreements in both formats: whatever the bytes, no crash; what is accepted is written and read
 * back the same.
 * Parsers: lib/config/agreement.c lib/config/agreement_read.c lib/config/agreement_xml.c */
#include <assert.h>
#include <stdlib.h>

#include "config/agreement.h"
#include "fuzz/fuzz.h"

static void round_trip(const struct phx_agreement *a,
		       int (*write)(const struct phx_agreement *, struct phx_buf *))
{
	struct phx_buf b = {0};
	struct phx_agreement again;
	struct phx_err err = {0};
	if (write(a, &b) < 0 ||
	    phx_agreement_parse(b.data, b.n, "fuzz", "", &again, NULL, &err) < 0 ||
	    !phx_record_equal(&phx_agreement_record, a, &again))
		abort();
	phx_record_fini(&phx_agreement_record, &again);
	phx_buf_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct phx_agreement a;
	struct phx_list findings = {0};
	struct phx_err err = {0};
	int r = phx_agreement_parse((const char *)data, n, "fuzz", "fuzz", &a, &findings, &err);
	if (r == 0) {
		assert(!findings.n);
		round_trip(&a, phx_agreement_write_conf);
		round_trip(&a, phx_agreement_write_xml);
		phx_record_fini(&phx_agreement_record, &a);
	} else if (!err.text[0]) {
		abort();
	}
	phx_list_fini(&findings);
	return 0;
}
