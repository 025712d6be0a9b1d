// The time that is looked at: "1h" is the last hour and goes on, "FROM-UNTIL" (milliseconds) stands. It is a part of the address, so that
// back, reload and bookmarks do what they should.
const SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR;

export const spans = [
	{ name: '1m', title: 'a minute', ms: MINUTE }, { name: '10m', title: '10 minutes', ms: 10 * MINUTE }, { name: '1h', title: 'an hour', ms: HOUR },
	{ name: '6h', title: '6 hours', ms: 6 * HOUR }, { name: '1d', title: 'a day', ms: DAY }, { name: '1w', title: 'a week', ms: 7 * DAY },
	{ name: '1M', title: 'a month', ms: 30 * DAY }, { name: '1y', title: 'a year', ms: 365 * DAY },
];
const SHORTEST = MINUTE, LONGEST = 366 * DAY;

// { name, from, until, follows }
export function parseSpan(text, now) {
	const stands = /^(\d{1,15})-(\d{1,15})$/.exec(text);
	if (stands && Number(stands[1]) < Number(stands[2]))
		return { name: text, from: Number(stands[1]), until: Number(stands[2]), follows: false };
	const s = spans.find((x) => x.name === text) ?? spans.find((x) => x.name === '1h');
	return { name: s.name, from: now - s.ms, until: now, follows: true };
}

// What reaches the present follows it.
function nameOf(from, until, now) {
	const follows = until >= now ? spans.find((s) => Math.abs(s.ms - (until - from)) < SECOND) : undefined;
	return follows?.name ?? `${Math.max(0, Math.round(from))}-${Math.round(until)}`;
}

// factor: how much longer it is to be; around its middle, or, where it follows, around its end
export function zoomed(span, factor, now) {
	const long = span.until - span.from;
	if (span.follows) {
		const at = spans.findIndex((s) => s.ms >= long);
		return spans[Math.min(spans.length - 1, Math.max(0, factor < 1 ? at - 1 : at + 1))].name;
	}
	const wanted = Math.min(LONGEST, Math.max(SHORTEST, long * factor));
	const middle = (span.from + span.until) / 2;
	return nameOf(middle - wanted / 2, Math.min(now, middle + wanted / 2), now);
}

export function moved(span, part, now) {
	const by = (span.until - span.from) * part;
	const until = Math.min(now, span.until + by);
	return until >= now ? nameOf(now - (span.until - span.from), now, now) : nameOf(span.from + by, until, now);
}
