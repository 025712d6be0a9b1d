// Sizes and times as people write them: "2 GiB", "90 s", "1.5 h". What is none of these is undefined, nothing is 0.
const sizes = { b: 1, kib: 2 ** 10, mib: 2 ** 20, gib: 2 ** 30, tib: 2 ** 40, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40, kb: 1e3, mb: 1e6, gb: 1e9, tb: 1e12 };
const times = { ms: 1, s: 1000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000 };

function read(text, units, plain) {
	if (!text.trim())
		return 0;
	const found = /^\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*$/.exec(text);
	const unit = found && (found[2] ? units[found[2].toLowerCase()] : plain);
	return unit ? Math.round(Number(found[1]) * unit) : undefined;
}

function write(n, units) {
	const [unit, of] = units.find(([, size]) => n % size === 0);
	return n ? `${n / of} ${unit}` : '';
}

export const readSize = (text) => read(text, sizes, 1);
export const readTime = (text) => read(text, times, 1000);
export const writeSize = (n) => write(n, [['TiB', 2 ** 40], ['GiB', 2 ** 30], ['MiB', 2 ** 20], ['KiB', 2 ** 10], ['B', 1]]);
export const writeTime = (ms) => write(ms, [['d', 86_400_000], ['h', 3_600_000], ['m', 60_000], ['s', 1000], ['ms', 1]]);
