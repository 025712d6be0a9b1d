/* Decimal numbers: see decimal.h. Called by the readers of workflows; reads text alone. */
#include "trace/decimal.h"

#include <errno.h>

#include "flow/flow.h"

/* Digits of a number, and where its point is: value = digits * 10^power. */
struct decimal {
	uint64_t digits;
	int power;
};

enum { POWER_MAX = 1000 };

/* Digits from *at on: as many as fit; of the others those before the point count by their place. */
static size_t take_digits(const char *text, size_t n, size_t at, bool fraction, struct decimal *d)
{
	for (; at < n && text[at] >= '0' && text[at] <= '9'; at++) {
		if (d->digits < 100000000000000000) { /* 10^17: room for one more */
			d->digits = d->digits * 10 + (uint64_t)(text[at] - '0');
			d->power -= fraction;
		} else {
			d->power += !fraction;
		}
	}
	return at;
}

static size_t take_exponent(const char *text, size_t n, size_t at, struct decimal *d)
{
	int power = 0;
	bool minus = at < n && text[at] == '-';
	at += at < n && (text[at] == '-' || text[at] == '+');
	size_t from = at;
	for (; at < n && text[at] >= '0' && text[at] <= '9'; at++)
		power = power > POWER_MAX ? power : power * 10 + (text[at] - '0');
	d->power += minus ? -power : power;
	return at == from ? n + 1 : at;
}

static int parse(const char *text, size_t n, bool exponent, uint64_t max_milli, uint64_t *ret)
{
	struct decimal d = {0};
	size_t at = take_digits(text, n, 0, false, &d);
	if (at == 0)
		return -EINVAL;
	if (at < n && text[at] == '.')
		at = take_digits(text, n, at + 1, true, &d);
	if (exponent && at < n && (text[at] == 'e' || text[at] == 'E'))
		at = take_exponent(text, n, at + 1, &d);
	if (at != n)
		return -EINVAL;
	d.power += 3; /* thousandths */
	for (; d.power < 0 && d.digits; d.power++)
		d.digits /= 10;
	for (; d.power > 0 && d.digits && d.digits <= max_milli; d.power--)
		if (__builtin_mul_overflow(d.digits, 10, &d.digits))
			return -EINVAL;
	if (d.digits > max_milli)
		return -EINVAL;
	*ret = d.digits;
	return 0;
}

int phx_decimal_ms(const char *text, size_t n, int64_t *ret)
{
	uint64_t milli;
	int r = parse(text, n, false, (uint64_t)PHX_FLOW_TIME_MAX_MS, &milli);
	if (r == 0)
		*ret = (int64_t)milli;
	return r;
}

int phx_decimal_json(const char *text, size_t n, uint64_t max_milli, uint64_t *ret)
{
	return parse(text, n, true, max_milli, ret);
}
