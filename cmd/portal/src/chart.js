// A chart of steps over time by uPlot, which is fetched with the first of them. Only draws: what it shows stands beside it as a table.
import uPlot from 'uplot';

const HEIGHT = 170;

function colours(element, n) {
	const style = getComputedStyle(element);
	const take = (name) => style.getPropertyValue(name).trim();
	return { ink: take('--ink'), quiet: take('--quiet'), line: take('--line'), of: (i) => take(`--chart-${i % n + 1}`) };
}

function optionsOf(box, { lines, from, until, onPick, top }, width) {
	const c = colours(box, 8), font = '12px system-ui, "DejaVu Sans", sans-serif';
	const axis = { stroke: c.quiet, font, grid: { stroke: c.line, width: 1 }, ticks: { stroke: c.line, width: 1 } };
	return {
		width, height: HEIGHT, legend: { show: false }, cursor: { sync: { key: 'timeline' }, drag: { x: true, y: false, setScale: false } },
		scales: { x: { time: true, range: [from / 1000, until / 1000] }, y: { range: (u, least, most) => [0, Math.max(1, (top || (most ?? 1)) * 1.08)] } },
		axes: [{ ...axis }, { ...axis, size: 60 }],
		series: [{}, ...lines.map((l) => ({ label: l.pool, stroke: c.of(l.colour), width: 2, points: { show: false }, spanGaps: false, paths: uPlot.paths.stepped({ align: 1 }) }))],
		hooks: { setSelect: [(u) => u.select.width > 3 && onPick(1000 * u.posToVal(u.select.left, 'x'), 1000 * u.posToVal(u.select.left + u.select.width, 'x'))] },
	};
}

// what: { lines, data, from, until, onPick }. Returns how it is told of something else, and ended.
export function draw(box, what) {
	let plot = null, now = what;
	const again = () => {
		plot?.destroy();
		plot = new uPlot(optionsOf(box, now, box.clientWidth), now.data, box);
	};
	let wide = box.clientWidth;
	const size = new ResizeObserver(() => {
		if (box.clientWidth === wide)
			return;
		wide = box.clientWidth;
		plot.setSize({ width: wide, height: HEIGHT });
	});
	const scheme = matchMedia('(prefers-color-scheme: dark)');
	again();
	size.observe(box);
	scheme.addEventListener('change', again);
	return {
		show(next) {
			now = next;
			again();
		},
		end() {
			size.disconnect();
			scheme.removeEventListener('change', again);
			plot.destroy();
		},
	};
}
