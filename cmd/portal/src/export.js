// What is seen as files: the numbers as CSV, the pictures as SVG. Made here of what the head has told; nothing is asked again.
import { panels, stepsOfPanel } from './series.js';

export function save(name, type, text) {
	const link = document.createElement('a');
	link.href = URL.createObjectURL(new Blob([text], { type }));
	link.download = name;
	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // the browser may still read it
}

// A row a pool and time; a value that is not known is empty. Names of pools have no commas.
export function csvOf(answer) {
	const names = answer.quantities.map((q) => q.name);
	const head = ['time', 'at_ms', 'covered_ms', 'pool', ...names, ...answer.quantities.filter((q) => q.lasts).map((q) => `${q.name}_most`)];
	const rows = answer.pools.flatMap((p) => p.at_ms.map((at, i) => [new Date(at).toISOString(), at, p.covered_ms[i], p.pool,
		...names.map((n) => p.values[n][i] ?? ''), ...Object.values(p.most).map((m) => m[i])]));
	return [head, ...rows].map((r) => r.join(',')).join('\n') + '\n';
}

const SVG = 'http://www.w3.org/2000/svg';
const WIDTH = 960, HEIGHT = 160, LEFT = 70, TOP = 40, GAP = 50;
const COLOURS = ['#1f5f8b', '#c2703d', '#2f7d4f', '#8d78c4', '#b3322e', '#7d766a', '#3f9b9b', '#b58900'];

function element(name, attributes, text) {
	const e = document.createElementNS(SVG, name);
	for (const [key, value] of Object.entries(attributes))
		e.setAttribute(key, value);
	if (text !== undefined)
		e.textContent = text;
	return e;
}

// A way for each stretch without a gap.
function wayOf(steps, x, y) {
	let way = '', end = null;
	for (const s of steps) {
		way += `${s.from === end ? 'L' : 'M'}${x(s.from).toFixed(2)} ${y(s.value).toFixed(2)}H${x(s.until).toFixed(2)}`;
		end = s.until;
	}
	return way;
}

function panelOf(answer, panel, top) {
	const lines = stepsOfPanel(answer, panel), group = element('g', { id: panel.name });
	const most = Math.max(1, ...lines.flatMap((l) => l.steps.map((s) => s.value)));
	const x = (t) => LEFT + (WIDTH - LEFT - 10) * Math.min(1, Math.max(0, (t - answer.from_ms) / (answer.until_ms - answer.from_ms)));
	const y = (v) => top + HEIGHT - HEIGHT * v / most;
	group.append(element('text', { x: LEFT, y: top - 8, 'font-weight': 'bold' }, `${panel.title} (${panel.unit})`),
		element('path', { d: `M${LEFT} ${top}V${top + HEIGHT}H${WIDTH - 10}`, stroke: '#888', fill: 'none' }),
		element('text', { x: LEFT - 6, y: top + 10, 'text-anchor': 'end' }, String(Math.round(most * 100) / 100)),
		element('text', { x: LEFT - 6, y: top + HEIGHT, 'text-anchor': 'end' }, '0'));
	lines.forEach((l, i) => {
		const colour = COLOURS[i % COLOURS.length];
		group.append(element('path', { d: wayOf(l.steps, x, y), stroke: colour, 'stroke-width': 1.8, fill: 'none', 'data-pool': l.pool }),
			element('text', { x: LEFT + 200 + 110 * i, y: top - 8, fill: colour }, l.pool));
	});
	return lines.length ? group : null;
}

export function svgOf(answer) {
	const svg = element('svg', { xmlns: SVG, width: WIDTH, 'font-family': 'sans-serif', 'font-size': 12 });
	const span = [answer.from_ms, answer.until_ms].map((t) => new Date(t).toISOString()).join(' to ');
	svg.append(element('rect', { width: '100%', height: '100%', fill: '#fff' }), element('text', { x: LEFT, y: 16 }, span));
	let top = TOP + 10;
	for (const panel of panels) {
		const group = panelOf(answer, panel, top);
		if (group) {
			svg.append(group);
			top += HEIGHT + GAP;
		}
	}
	svg.setAttribute('height', top);
	return new XMLSerializer().serializeToString(svg);
}
