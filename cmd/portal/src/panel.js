// One drawing of the time-line, with what it says in numbers.
import { useEffect, useRef, useState } from 'preact/hooks';
import { html } from './html.js';
import { aligned, summary } from './series.js';

const number = (v) => (v === null || !Number.isFinite(v) ? '' : String(Math.round(v * 100) / 100));

function Canvas({ lines, span, onPick, label, top }) {
	const box = useRef(null), drawn = useRef(null);
	const [failed, setFailed] = useState(false);
	const what = { lines, data: aligned(lines), from: span.from, until: span.until, onPick, top };
	const latest = useRef(what);
	latest.current = what;
	useEffect(() => {
		let gone = false;
		import('./chart.js').then(({ draw }) => {
			if (!gone)
				drawn.current = draw(box.current, latest.current);
		}, () => setFailed(true));
		return () => {
			gone = true;
			drawn.current?.end();
			drawn.current = null;
		};
	}, []);
	useEffect(() => drawn.current?.show(latest.current));
	return html`<div class="chart" ref=${box} role="img" aria-label=${label}></div>${failed && html`<p class="warning">What draws cannot be fetched: the numbers are below.</p>`}`;
}

function Numbers({ panel, lines, span }) {
	return html`<table class="numbers"><caption class="heard">${panel.title}, ${panel.unit}</caption>
		<thead><tr>${['Pool', 'Mean', 'Least', 'Most', 'Last'].map((t) => html`<th scope="col" key=${t}>${t}</th>`)}</tr></thead>
		<tbody>${lines.map((l) => {
			const s = summary(l.steps, span.from, span.until);
			return html`<tr key=${l.pool}><th scope="row"><span class=${`key key-${l.colour % 8 + 1}`} aria-hidden="true"></span>${l.pool}</th>
				<td>${number(s.mean)}</td><td>${number(s.least)}</td><td>${number(s.most)}</td><td>${number(s.last)}</td></tr>`;
		})}</tbody></table>`;
}

// lines: of series.js, each with its colour's number; top: how high it is drawn, where another drawing stands beside it
export function Panel({ panel, lines, span, onPick = () => {}, top }) {
	return html`<section class="panel sheet" aria-label=${panel.title}><h2>${panel.title} <span class="quiet">${panel.unit}</span></h2>
		<div class="beside-numbers"><div><${Canvas} lines=${lines} span=${span} onPick=${onPick} top=${top} label=${`${panel.title} over time; the table has its numbers`} /></div>
		<${Numbers} panel=${panel} lines=${lines} span=${span} /></div></section>`;
}
