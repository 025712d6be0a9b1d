// On the time-line: what would have been in the time that is shown, with more nodes, another model, or nodes that are erased.
import { useState } from 'preact/hooks';
import { csvOf, save, svgOf } from './export.js';
import { html } from './html.js';
import { useOnce } from './once.js';
import { ask, Compared, Progress, Sides, timelineOf, useWhatIf } from './whatif.js';

const models = [['', 'as agreed'], ['fb', 'fb: fixed bounds'], ['flb-nub', 'flb-nub: a fixed lower bound'], ['dr', 'dr: DawningCloud'], ['coop2008', 'coop2008']];

// As one says it.
function nameOf(wish) {
	const more = wish.nodes > 0 ? `${wish.nodes} more nodes` : wish.nodes < 0 ? `${-wish.nodes} fewer nodes` : '';
	return [more, wish.has_model && wish.model, wish.wipes && 'wipe'].filter(Boolean).join(', ') || 'nothing changed';
}

function Form({ span, onAsked }) {
	const [wish, setWish] = useState({ nodes: '10', model: '', wipes: false });
	const [said, setSaid] = useState('');
	const [busy, once] = useOnce();
	const put = (more) => setWish({ ...wish, ...more });
	const submit = (e) => {
		e.preventDefault();
		once(() => ask({ from_ms: Math.round(span.from), until_ms: Math.round(span.until), nodes: Number(wish.nodes) || 0, wipes: wish.wipes, ...(wish.model && { model: wish.model }) })
			.then((id) => { setSaid(''); onAsked(id, span); }, (problem) => setSaid(problem.message)));
	};
	return html`<form class="controls" onSubmit=${submit} aria-label="What would have been">
		<label>More nodes <input type="number" min="-100000" max="100000" step="1" value=${wish.nodes} onInput=${(e) => put({ nodes: e.target.value })} /></label>
		<label>Model <select value=${wish.model} onChange=${(e) => put({ model: e.target.value })}>${models.map(([v, t]) => html`<option key=${v} value=${v}>${t}</option>`)}</select></label>
		<label class="check"><input type="checkbox" checked=${wish.wipes} onChange=${(e) => put({ wipes: e.target.checked })} /> Nodes are erased when they leave</label>
		<button type="submit" class="main" disabled=${busy}>Simulate it</button></form>${said && html`<p class="trouble" role="alert">${said}</p>`}`;
}

function Answer({ shown, real, colourOf, onPick }) {
	const { question, answer } = shown;
	const title = `with ${nameOf(question.wish)}`;
	const changed = answer.changed.error ? null : timelineOf(answer, 'changed', real);
	const onSave = (kind) => save(`what-if-${question.id}.${kind}`, kind === 'csv' ? 'text/csv' : 'image/svg+xml', (kind === 'csv' ? csvOf : svgOf)(changed));
	return html`<${Compared} answer=${answer} titles=${['As agreed', title]} of="All REs together" />
		${changed && html`<p class="controls"><button type="button" onClick=${() => onSave('csv')}>Save the simulation as CSV</button><button type="button" onClick=${() => onSave('svg')}>Save the simulation as SVG</button></p>
			<${Sides} sides=${[{ title: 'as it was', timeline: real }, { title, timeline: changed }]} span=${{ from: answer.from_ms, until: answer.until_ms }} colourOf=${colourOf} onPick=${onPick} />`}`;
}

// real: what the head tells of the time that is shown; id: of the question that the address names
export function WhatIf({ id, span, real, colourOf, onAsked, onLeave, onPick }) {
	const { shown, error } = useWhatIf(id);
	return html`<section class="sheet" aria-label="What if"><div class="bar"><h2>What would have been?</h2>${id && html`<button type="button" onClick=${onLeave}>Close</button>`}</div>
		<p class="quiet">The head simulates the time that is shown, by its own journal: as it was agreed, and with this changed.</p>
		<${Form} span=${span} onAsked=${onAsked} />
		${error && html`<p class="trouble" role="alert">${error}</p>`}
		${shown && html`<${Progress} question=${shown.question} />`}
		${shown?.answer && html`<${Answer} shown=${shown} real=${real} colourOf=${colourOf} onPick=${onPick} />`}</section>`;
}
