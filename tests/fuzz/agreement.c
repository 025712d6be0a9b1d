/* RE agreements in both formats: whatever the bytes, no crash; what is accepted is written and read
 * back the same, also by the keys that were given, as a form has them.
 * Parsers: lib/config/agreement.c lib/config/agreement_read.c lib/config/agreement_xml.c */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

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

/* What a form is filled with; of an agreement that is accepted (`a`, else NULL) it says all. */
static void keys_given(const char *text, size_t n, const struct phx_agreement *a)
{
	struct phx_list given;
	struct phx_buf b = {0};
	struct phx_agreement again;
	struct phx_err err = {0};
	int r = phx_agreement_given_in(text, n, &given);
	int w = phx_agreement_write_given(&given, &b, &err);
	if (w < 0 && !err.text[0])
		abort();
	if (a && r == 0 && w == 0) {
		if (phx_agreement_parse(b.data ? b.data : "", b.n, "given", "fuzz", &again, NULL,
					&err) < 0 ||
		    !phx_record_equal(&phx_agreement_record, a, &again))
			abort();
		phx_record_fini(&phx_agreement_record, &again);
	} else if (a) {
		abort();
	}
	phx_list_fini(&given);
	phx_buf_fini(&b);
}

/* The same bytes as a file: a key has one of its lines, or none. */
static void line_of_key(const uint8_t *data, size_t n)
{
	static int fd = -1;
	char path[40];
	uint32_t lines = 1;
	if (fd < 0)
		fd = memfd_create("agreement", MFD_CLOEXEC);
	assert(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, data, n, 0) == (ssize_t)n);
	for (size_t i = 0; i < n; i++)
		lines += data[i] == '\n';
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert(phx_agreement_line_in(path, "role") <= lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct phx_agreement a;
	struct phx_list findings = {0};
	struct phx_err err = {0};
	int r = phx_agreement_parse((const char *)data, n, "fuzz", "fuzz", &a, &findings, &err);
	keys_given((const char *)data, n, r == 0 ? &a : NULL);
	line_of_key(data, n);
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
