// Numbers and times as people read them.
export function took(ms) {
	if (ms < 1000)
		return `${Math.round(ms)} ms`;
	const s = Math.round(ms / 1000);
	if (s < 120)
		return `${s} s`;
	return s < 7200 ? `${Math.round(s / 60)} min` : `${Math.round(s / 3600)} h`;
}

export function bytes(n) {
	const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
	let i = 0;
	for (; n >= 1024 && i < units.length - 1; i++)
		n /= 1024;
	return `${n >= 10 || i === 0 ? Math.round(n) : n.toFixed(1)} ${units[i]}`;
}

export const moment = (ms) => (ms ? new Date(ms).toLocaleString(undefined, { dateStyle: 'short', timeStyle: 'medium' }) : '');
