// The time-line: how many nodes each pool had, what was wanted of it, which jobs ran, waited and were killed; from a minute to a year. The
// arrows move, + and − zoom, Home goes to the present; a stretch that is drawn with the mouse is looked at.
import { useEffect, useRef, useState } from 'preact/hooks';
import { get } from './api.js';
import { csvOf, save, svgOf } from './export.js';
import { Holdings } from './holdings.js';
import { html } from './html.js';
import { Panel } from './panel.js';
import { address, go, route, whereNow } from './route.js';
import { panels, stepsOfPanel } from './series.js';
import { moved, parseSpan, spans, zoomed } from './span.js';
import { may } from './session.js';
import { useSubject } from './subject.js';
import { WhatIf } from './whatif_cluster.js';
import { moment } from './words.js';

const POINTS = 800; // more than that no chart shows; a month has 720 hours
const AGAIN_MS = 3000; // measurements are no events that could be waited for
const SLOWEST_MS = 60_000;

async function read(item, signal) {
	const span = parseSpan(item, Date.now());
	const of = `from=${Math.round(span.from)}&until=${Math.round(span.until)}`;
	const [answer, { kills }] = await Promise.all([get(`/v1/timeline?${of}&points=${POINTS}`, { signal, watch: true }), get(`/v1/timeline/kills?${of}`, { signal, watch: true })]);
	return { span, answer, kills };
}

// Read again while it follows the present, the longer it is the more seldom.
function useSeries(item) {
	const [shown, setShown] = useState(null);
	const [error, setError] = useState('');
	useEffect(() => {
		const abort = new AbortController();
		let timer;
		const turn = async () => {
			try {
				const next = await read(item, abort.signal);
				setShown((old) => ({ ...next, tick: (old?.tick ?? 0) + 1 }));
				setError('');
				if (next.span.follows)
					timer = setTimeout(turn, Math.min(SLOWEST_MS, Math.max(AGAIN_MS, (next.span.until - next.span.from) / POINTS)));
			} catch (e) {
				if (e.name === 'AbortError' || e.status === 401)
					return;
				setError(e.status ? e.message : '');
				timer = setTimeout(turn, AGAIN_MS);
			}
		};
		turn();
		return () => {
			abort.abort();
			clearTimeout(timer);
		};
	}, [item]);
	return { shown, error };
}

function Controls({ span, to, step, onSave }) {
	return html`<div class="controls" role="group" aria-label="Time">
		<button type="button" onClick=${() => step((s, now) => moved(s, -0.5, now))}>Earlier</button>
		<button type="button" disabled=${span.follows} onClick=${() => step((s, now) => moved(s, 0.5, now))}>Later</button>
		<button type="button" onClick=${() => step((s, now) => zoomed(s, 0.5, now))}>Closer</button>
		<button type="button" onClick=${() => step((s, now) => zoomed(s, 2, now))}>Farther</button>
		<label>Show <select value=${span.follows ? span.name : ''} onChange=${(e) => e.target.value && to(e.target.value)}>
			${!span.follows && html`<option value="">a stretch</option>`}
			${spans.map((s) => html`<option key=${s.name} value=${s.name}>the last ${s.title.replace(/^an? /, '')}</option>`)}</select></label>
		<button type="button" onClick=${() => onSave('csv')}>Save as CSV</button><button type="button" onClick=${() => onSave('svg')}>Save as SVG</button></div>`;
}

function Kills({ kills }) {
	if (!kills.length)
		return html`<section class="panel sheet" aria-label="Kills"><h2>Kills</h2><p class="quiet">No job was killed for its nodes.</p></section>`;
	return html`<section class="panel sheet" aria-label="Kills"><h2>Kills</h2><div class="wide" tabindex="0" role="region" aria-label="List of kills"><table>
		<thead><tr><th scope="col">When</th><th scope="col">RE</th><th scope="col">What, and why</th></tr></thead>
		<tbody>${kills.map((k, i) => html`<tr key=${i}><td>${moment(k.at_ms)}</td><td>${k.pool}</td><td>${k.text}</td></tr>`)}</tbody></table></div></section>`;
}

const KEYS = { ArrowLeft: (s, n) => moved(s, -0.25, n), ArrowRight: (s, n) => moved(s, 0.25, n), '+': (s, n) => zoomed(s, 0.5, n), '-': (s, n) => zoomed(s, 2, n) };

// Each pool has one colour in all drawings.
function colours(answer) {
	const names = answer.pools.map((p) => p.pool).sort();
	return (pool) => Math.max(0, names.indexOf(pool));
}

function Drawings({ shown, to }) {
	const { span, answer, kills, tick } = shown;
	const colourOf = colours(answer);
	const pick = (from, until) => to(`${Math.round(from)}-${Math.round(Math.max(from + 60_000, until))}`);
	const list = panels.map((panel) => ({ panel, lines: stepsOfPanel(answer, panel).map((l) => ({ ...l, colour: colourOf(l.pool) })) })).filter((p) => p.lines.length);
	return html`${!list.length && html`<p class="notice">Nothing is known of this time.</p>`}
		${list.map(({ panel, lines }) => html`<${Panel} key=${panel.name} panel=${panel} lines=${lines} span=${span} onPick=${pick} />`)}
		<${Kills} kills=${kills} /><${Holdings} span=${span} colourOf=${colourOf} tick=${tick} />`;
}

// What would have been in the time that is shown; the address names the question, so that it is there after a reload.
function Question({ shown, span, to }) {
	const id = useSubject(route).query.get('what-if') ?? '';
	if (!may('journal') || !shown)
		return null;
	const onAsked = (n, { from, until }) => { location.hash = `${address('timeline', `${Math.round(from)}-${Math.round(until)}`)}?what-if=${n}`; };
	const onPick = (from, until) => to(`${Math.round(from)}-${Math.round(Math.max(from + 60_000, until))}`);
	return html`<${WhatIf} id=${id} span=${span} real=${shown.answer} colourOf=${colours(shown.answer)} onAsked=${onAsked} onLeave=${() => to(whereNow().item)} onPick=${onPick} />`;
}

export function Timeline({ item }) {
	const { shown, error } = useSeries(item);
	const latest = useRef(null);
	latest.current = shown;
	const to = (name) => go('timeline', name);
	const span = parseSpan(item, Date.now()); // what is drawn may still be that of before
	// a second step begins where the first one leads, drawn or not
	const step = (next) => to(next(parseSpan(whereNow().item, Date.now()), Date.now()));
	const onKey = (e) => {
		const next = e.key === 'Home' ? () => '1h' : KEYS[e.key];
		if (!next || e.ctrlKey || e.altKey || e.metaKey || ['INPUT', 'SELECT'].includes(e.target.tagName))
			return;
		e.preventDefault();
		step(next);
	};
	const onSave = (kind) => {
		const name = `timeline-${new Date(span.from).toISOString().slice(0, 19).replaceAll(':', '')}.${kind}`;
		if (latest.current)
			save(name, kind === 'csv' ? 'text/csv' : 'image/svg+xml', (kind === 'csv' ? csvOf : svgOf)(latest.current.answer));
	};
	return html`<div class="timeline" onKeyDown=${onKey}>
		<div class="bar"><h1>Time-line</h1><span class="quiet" role="status">${shown ? `${moment(shown.span.from)} to ${shown.span.follows ? 'now' : moment(shown.span.until)}, by ${shown.answer.level}s` : 'reading …'}</span></div>
		<div class="sight" tabindex="0" role="region" aria-label="Time: the arrows move, plus and minus zoom, Home shows the last hour"><${Controls} span=${span} to=${to} step=${step} onSave=${onSave} /></div>
		${error && html`<p class="warning" role="alert">${error}</p>`}
		<${Question} shown=${shown} span=${span} to=${to} />
		${shown && html`<${Drawings} shown=${shown} to=${to} />`}</div>`;
}
