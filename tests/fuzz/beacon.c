/* Beacons of machines that nobody knows. What is taken steers no terminal, keeps its bounds, and
 * is read the same when it is written again; what is refused has a text, and leaves the answer as
 * it was.
 * Parsers: lib/types/beacon.c */
#include "fuzz/fuzz.h"
#include "base/utf8.h"
#include "types/beacon.h"

static void check_text(const char *text)
{
	for (; *text; text += phx_utf8_length(text))
		fuzz_never(!phx_utf8_length(text) || (*text != '\t' && phx_utf8_steering(text)));
}

static void check(const struct phx_beacon *b)
{
	check_text(b->kernel);
	check_text(b->image);
	check_text(b->address);
	check_text(b->head);
	fuzz_never(b->nics.n > PHX_BEACON_ROWS || b->pci.n > PHX_BEACON_ROWS ||
		   b->disks.n > PHX_BEACON_ROWS || (b->reached && b->head[0]));
	PHX_LIST_EACH(struct phx_beacon_nic, nic, &b->nics) {
		char mac[PHX_MAC_MAX];
		check_text(nic->dev);
		check_text(nic->driver);
		fuzz_never(phx_mac_parse(nic->mac, mac) < 0);
	}
	PHX_LIST_EACH(struct phx_beacon_disk, disk, &b->disks)
		check_text(disk->dev);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct phx_beacon b = {.up_s = 77}, again;
	struct phx_err err = {0};
	struct phx_buf text = {0}, said = {0};
	char *exact = malloc(n ? n : 1); /* so that what reads beyond is seen */
	fuzz_never(!exact);
	memcpy(exact, data, n);
	int r = phx_beacon_parse(exact, n, &b, &err);
	free(exact);
	if (r < 0) {
		fuzz_never(b.up_s != 77 || !err.text[0]);
		return 0;
	}
	check(&b);
	phx_beacon_format(&b, &text);
	phx_beacon_words(&b, &said);
	check_text(said.data);
	/* whoever writes it decides no other word than his own */
	fuzz_never(strncmp(said.data, "reached=", 8) || strstr(said.data, " reached=") ||
		   strpbrk(said.data, "\t\n"));
	if (text.n <= PHX_BEACON_MAX) {
		fuzz_never(phx_beacon_parse(text.data, text.n, &again, NULL) < 0);
		again.more = b.more;
		fuzz_never(!phx_record_equal(&phx_beacon_record, &b, &again));
		phx_record_fini(&phx_beacon_record, &again);
	}
	phx_buf_fini(&text);
	phx_buf_fini(&said);
	phx_record_fini(&phx_beacon_record, &b);
	return 0;
}
