'use strict';
(() => {
  const read = (id) => { const e = document.getElementById(id); return e ? JSON.parse(e.textContent) : null; };
  const figures = read('figures') || [];
  const some = document.querySelector('figure svg');
  const ns = some && some.namespaceURI;
  const make = (name, attributes, parent, text) => {
    const e = document.createElementNS(ns, name);
    for (const key in attributes) e.setAttribute(key, attributes[key]);
    if (text !== undefined) e.textContent = text;
    if (parent) parent.append(e);
    return e;
  };
  const plain = (name, attributes, parent, text) => {
    const e = document.createElement(name);
    for (const key in attributes) e.setAttribute(key, attributes[key]);
    if (text !== undefined) e.textContent = text;
    parent.append(e);
    return e;
  };
  // Digits in threes from 10,000 on, as everywhere in the page.
  const group = (text) => text.length < 5 ? text : text.replace(/\B(?=(\d{3})+(?!\d))/g, ',');
  // As many digits as a tenth of the span asks for, and as tell marks a step apart.
  const digitsOf = (span, step) => {
    let digits = 0;
    while (digits < 9 && (span * 10 ** digits < 4.999 || step * 10 ** digits < 0.999)) digits += 1;
    return digits;
  };
  const number = (value, span, step = span) => {
    const digits = digitsOf(span, step);
    const [whole, part] = Math.abs(value).toFixed(digits).split('.');
    const shown = group(whole) + (part ? '.' + part : '');
    return value < 0 && Number(shown.replace(/,/g, '')) !== 0 ? '\u2212' + shown : shown;
  };
  const time = (nanos) => {
    for (const [size, unit] of [[1e9, 's'], [1e6, 'ms'], [1e3, '\u00b5s']])
      if (nanos >= 0.9995 * size) return Number((nanos / size).toPrecision(3)) + '\u00a0' + unit;
    return Number(nanos.toPrecision(3)) + '\u00a0ns';
  };
  const label = (axis, value, span, step) => {
    if (axis.labels === 'decades') return time(10 ** value);
    if (axis.labels === 'shares') return Number((100 * 10 ** value).toPrecision(2)) + '\u00a0%';
    return number(value, span, step);
  };
  // The end of an axis is no round place: it has the digits that put it where it is, to a hundredth of the axis.
  const ending = (axis, value, span, step) => {
    const near = (one) => Math.abs(Number(value.toFixed(digitsOf(span, one))) - value) <= span / 100;
    return label(axis, value, span, [step, step / 10, step / 100].find(near) || step / 100);
  };
  // What the tip says: the number with its unit.
  const told = (axis, value, span) => label(axis, value, span) + (axis.labels === 'numbers' && axis.unit ? '\u00a0' + axis.unit : '');
  // Round places for marks; the end has one too where there is room.
  const ticks = (axis, from, to, most) => {
    const places = [];
    if (axis.labels === 'none') return places;
    let step = (to - from) / Math.max(most, 1);
    if (axis.labels === 'numbers') {
      const power = 10 ** Math.floor(Math.log10(step));
      step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= step) || 10 * power;
    } else step = Math.max(1, Math.ceil(step));
    for (let n = Math.ceil(from / step - 1e-9); n * step <= to + 1e-9 * step; n += 1) places.push(n * step);
    return places;
  };
  // What the labels of the vertical axis take on the left.
  const room = (figure, [, , from, to]) =>
    figure.y.labels === 'none' ? 8 : Math.max(58, 16 + 7.2 * Math.max(0, ...ticks(figure.y, from, to, 4).map((y) => label(figure.y, y, to - from).length)));
  const draw = (state) => {
    const { figure, box, view } = state;
    const width = Math.max(280, box.clientWidth || 880), height = figure.low ? 118 : Math.round(Math.min(440, 150 + width * 0.16));
    const bare = figure.y.labels === 'none';
    // Charts of the same stretch of time begin at the same place.
    const left = Math.max(room(figure, view), ...state.beside.map((other) => room(other.figure, other.whole))), right = width - 16, top = bare ? 6 : 26, bottom = height - 40;
    const [x0, x1, y0, y1] = view;
    const px = (x) => left + (x - x0) / (x1 - x0) * (right - left);
    const py = (y) => bottom - (y - y0) / (y1 - y0) * (bottom - top);
    const clip = 'clip' + state.index;
    const svg = make('svg', { viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': figure.title });
    const defs = make('clipPath', { id: clip }, make('defs', {}, svg));
    make('rect', { x: left, y: top - 7, width: right - left + 1, height: bottom - top + 8 }, defs);
    for (const y of ticks(figure.y, y0, y1, 4)) {
      make('path', { d: `M${left} ${py(y)}H${right}`, class: 'grid' }, svg);
      make('text', { x: left - 7, y: py(y) + 4, 'text-anchor': 'end' }, svg, label(figure.y, y, y1 - y0));
    }
    const marks = ticks(figure.x, x0, x1, width / 105), last = marks[marks.length - 1];
    const step = marks.length > 1 ? marks[1] - marks[0] : x1 - x0;
    const named = marks.map((x) => [x, label(figure.x, x, x1 - x0, step)]);
    if (marks.length && figure.x.labels === 'numbers') {
      const text = ending(figure.x, x1, x1 - x0, step), room = 7.2 * (text.length + named[named.length - 1][1].length / 2);
      if (px(x1) - px(last) > Math.max(52, room)) named.push([x1, text]);
    }
    for (const [x, text] of named) {
      make('path', { d: `M${px(x)} ${bottom}v4`, class: 'axis' }, svg);
      const anchor = px(x) > right - 24 ? 'end' : px(x) < left + 12 && left < 20 ? 'start' : 'middle';
      make('text', { x: Math.min(px(x) + (anchor === 'end' ? 8 : 0), width - 4), y: bottom + 17, 'text-anchor': anchor, class: 'along' }, svg, text);
    }
    make('path', { d: `M${left} ${bottom}H${right}`, class: 'axis' }, svg);
    make('text', { x: right, y: height - 5, 'text-anchor': 'end' }, svg, figure.x.title);
    if (!bare) make('text', { x: 2, y: 12 }, svg, figure.y.title);
    const plot = make('g', { 'clip-path': `url(#${clip})` }, svg);
    for (const layer of figure.layers) {
      const points = layer.points, style = `--c:var(--${layer.ink})`;
      if (layer.kind === 'points') {
        let d = '';
        for (const [x, y] of points) if (x >= x0 && x <= x1) d += `M${px(x).toFixed(1)} ${py(y).toFixed(1)}h0`;
        make('path', { d, class: 'dots', style }, plot);
      } else if (layer.kind === 'line' || layer.kind === 'area') {
        let d = '';
        for (const [x, y] of points) d += (d ? 'L' : 'M') + px(x).toFixed(1) + ' ' + py(y).toFixed(1);
        if (d && layer.kind === 'area') make('path', { d: `${d}L${px(points[points.length - 1][0])} ${bottom}L${px(points[0][0])} ${bottom}Z`, class: 'fill', style }, plot);
        make('path', { d, class: 'line', style }, plot);
      } else if (layer.kind === 'below') {
        make('path', { d: points.map((x) => `M${px(x).toFixed(1)} ${bottom}v-9`).join(''), class: 'mark', style }, plot);
      } else if (layer.kind === 'above') {
        make('path', { d: points.map(([x]) => `M${px(x).toFixed(1)} ${top - 6}l-3.5 6h7Z`).join(''), class: 'tip', style }, plot);
      } else if (layer.kind === 'bars') {
        for (const [a, b, c, e, opacity] of points) make('rect', { x: px(a), y: py(e), width: Math.max(1, px(b) - px(a)), height: py(c) - py(e), class: 'tip', opacity, style }, plot);
      }
    }
    state.geometry = { left, right, top, bottom, px, py, width };
    state.cursor = make('g', { class: 'cursor' }, svg);
    if (state.svg) state.svg.replaceWith(svg); else box.append(svg);
    state.svg = svg;
    state.reset.hidden = view.every((value, place) => value === state.whole[place]);
    // Of how many points those in view are some.
    let seen = 0, there = 0;
    for (const layer of figure.layers) if (layer.kind === 'points') {
      const here = layer.points.filter(([x]) => x >= x0 && x <= x1).length;
      seen += here; there += layer.of ? here * layer.of / layer.points.length : here;
    }
    state.some.hidden = state.reset.hidden || there < seen + 1;
    state.some.textContent = `${group(String(seen))} of about ${group(String(Number(there.toPrecision(2))))} points here are drawn`;
  };
  const zoom = (state, a, b) => {
    const { figure } = state;
    const [from, to] = a < b ? [a, b] : [b, a];
    // Drawn beside the axis, or finer than its numbers: there is nothing to show.
    if (to - from <= (state.whole[1] - state.whole[0]) / 1e7) { hover(state, null); return; }
    let low = state.whole[2], high = state.whole[3];
    const seen = figure.layers.filter((l) => l.kind === 'points').flatMap((l) => l.points.filter(([x]) => x >= from && x <= to).map(([, y]) => y));
    if (seen.length > 1) {
      low = seen.reduce((m, y) => Math.min(m, y), seen[0]); high = seen.reduce((m, y) => Math.max(m, y), seen[0]);
      const room = 0.06 * (high - low || 1);
      low = Math.max(low - room, Math.min(low, state.whole[2])); high += room;
    }
    state.view = [from, to, low, high];
    draw(state);
  };
  const nearest = (points, x) => points.reduce((best, point) => (!best || Math.abs(point[0] - x) < Math.abs(best[0] - x) ? point : best), null);
  const hover = (state, clientX) => {
    const { figure, geometry: g, view, cursor } = state;
    cursor.replaceChildren();
    if (clientX === null) { state.tip.hidden = true; return; }
    const box = state.svg.getBoundingClientRect();
    const at = Math.min(g.right, Math.max(g.left, (clientX - box.left) * g.width / box.width));
    const x = view[0] + (at - g.left) / (g.right - g.left) * (view[1] - view[0]);
    make('path', { d: `M${at} ${g.top}V${g.bottom}` }, cursor);
    const lines = [];
    const close = (view[1] - view[0]) / 60;
    // A mark at the upper edge is about so broad, as far as a pointer can tell.
    const under = 5 * (view[1] - view[0]) / (g.right - g.left);
    for (const layer of figure.layers) {
      if (layer.kind === 'above') {
        const mark = nearest(layer.points, x);
        if (!mark || Math.abs(mark[0] - x) > under) continue;
        make('circle', { cx: g.px(mark[0]), cy: g.top - 3, r: 4, style: `--c:var(--${layer.ink})` }, cursor);
        lines.unshift([layer, mark]);
        continue;
      }
      if (layer.kind !== 'points' && layer.kind !== 'line' && layer.kind !== 'area') continue;
      const point = nearest(layer.points, x);
      if (!point || Math.abs(point[0] - x) > close && layer.kind === 'points') continue;
      make('circle', { cx: g.px(point[0]), cy: g.py(point[1]), r: 4, style: `--c:var(--${layer.ink})` }, cursor);
      lines.push([layer, point]);
    }
    state.tip.replaceChildren();
    const span = (view[1] - view[0]) / 50;
    plain('b', {}, state.tip, told(figure.x, x, span));
    for (const [layer, point] of lines) {
      const beyond = layer.kind === 'above' ? '\u25b2\u00a0' : '';
      plain('span', { style: `--c:var(--${layer.ink})` }, state.tip, beyond + told(figure.y, point[1], (view[3] - view[2]) / 50));
    }
    state.tip.hidden = false;
    const place = (at / g.width) * box.width;
    state.tip.style.left = Math.min(Math.max(0, place + 12), box.width - state.tip.offsetWidth) + 'px';
    if (place > box.width * 0.7) state.tip.style.left = Math.max(0, place - 12 - state.tip.offsetWidth) + 'px';
  };
  const states = [];
  document.querySelectorAll('figure[data-figure]').forEach((place, index) => {
    const figure = figures[Number(place.dataset.figure)];
    if (!figure || !ns) return;
    const legend = plain('div', { class: 'legend' }, place);
    for (const [name, ink] of figure.legend) plain('span', { style: `--c:var(--${ink})` }, legend, name);
    const some = plain('em', { hidden: '' }, legend);
    const reset = plain('button', { type: 'button', hidden: '' }, legend, 'show all');
    const box = plain('div', { class: 'live' }, place);
    place.prepend(legend, box);
    const tip = plain('div', { class: 'tip-box', hidden: '' }, box);
    const whole = [figure.x.from, figure.x.to, figure.y.from, figure.y.to];
    const state = { figure, index, box, reset, some, tip, whole, view: whole, beside: [] };
    place.classList.add('lively');
    states.push(state);
    const toX = (clientX) => {
      const r = state.svg.getBoundingClientRect(), g = state.geometry;
      const at = Math.min(g.right, Math.max(g.left, (clientX - r.left) * g.width / r.width));
      return state.view[0] + (at - g.left) / (g.right - g.left) * (state.view[1] - state.view[0]);
    };
    let from = null, wanted = null;
    // On a touch screen one finger points, and what it points at stays; two take hold of their moments, and spread or move them.
    const fingers = new Map();
    let held = null;
    const grip = () => [...fingers.values()].sort((a, b) => a - b);
    const spread = () => {
      const r = state.svg.getBoundingClientRect(), g = state.geometry, k = g.width / r.width;
      const [p, q] = grip().map((clientX) => (clientX - r.left) * k);
      const slope = (held[1] - held[0]) / Math.max(q - p, 12);
      const low = held[0] - (p - g.left) * slope;
      const [first, last] = state.whole, least = (last - first) / 1e4;
      const [a, b] = [Math.max(first, low), Math.min(last, low + (g.right - g.left) * slope)];
      if (b - a < least) return;
      if (a <= first && b >= last) all(); else zoom(state, a, b);
    };
    box.addEventListener('pointerdown', (event) => {
      if (event.pointerType === 'mouse') { from = event.clientX; return; }
      fingers.set(event.pointerId, event.clientX);
      // What is drawn anew under a finger does not lose it.
      try { box.setPointerCapture(event.pointerId); } catch { /* it has left already */ }
      hover(state, fingers.size === 1 ? event.clientX : null);
      held = fingers.size === 2 ? grip().map(toX) : null;
    });
    box.addEventListener('pointermove', (event) => {
      if (fingers.has(event.pointerId)) fingers.set(event.pointerId, event.clientX);
      if (held) {
        if (wanted === null) requestAnimationFrame(() => { wanted = null; if (held) spread(); });
        wanted = event.clientX;
        return;
      }
      if (wanted === null) requestAnimationFrame(() => {
        if (wanted === null || held) { wanted = null; return; }
        hover(state, wanted);
        if (from !== null && Math.abs(wanted - from) > 4) {
          const r = state.svg.getBoundingClientRect(), k = state.geometry.width / r.width, g = state.geometry;
          const a = (Math.min(from, wanted) - r.left) * k, b = (Math.max(from, wanted) - r.left) * k;
          make('rect', { x: a, y: g.top, width: b - a, height: g.bottom - g.top }, state.cursor);
        }
        wanted = null;
      });
      wanted = event.clientX;
    });
    box.addEventListener('pointerleave', (event) => {
      if (event.pointerType !== 'mouse') return;
      from = null; wanted = null; requestAnimationFrame(() => hover(state, null));
    });
    const lift = (event) => { fingers.delete(event.pointerId); held = null; };
    box.addEventListener('pointerup', (event) => {
      lift(event);
      if (from !== null && Math.abs(event.clientX - from) > 8) zoom(state, toX(from), toX(event.clientX));
      from = null;
    });
    // The page is scrolled.
    box.addEventListener('pointercancel', (event) => { lift(event); wanted = null; hover(state, null); });
    document.addEventListener('pointerdown', (event) => { if (!box.contains(event.target)) hover(state, null); });
    const all = () => { state.view = state.whole; draw(state); };
    box.addEventListener('dblclick', all);
    reset.addEventListener('click', all);
  });
  for (const state of states) {
    const same = (other) => ['title', 'from', 'to'].every((part) => other.figure.x[part] === state.figure.x[part]);
    state.beside = states.filter((other) => same(other) && other.box.closest('article') === state.box.closest('article'));
  }
  states.forEach(draw);
  let waiting = false;
  addEventListener('resize', () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; states.forEach(draw); });
  });
  // On paper nothing can be opened: all is, and is closed again afterwards.
  let closed = [];
  addEventListener('beforeprint', () => {
    closed = [...document.querySelectorAll('details:not([open])')];
    for (const part of closed) part.open = true;
  });
  addEventListener('afterprint', () => { for (const part of closed) part.open = false; closed = []; });
  const save = (name, type, text) => {
    const link = document.createElement('a');
    link['href'] = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
  };
  const data = document.getElementById('data');
  if (data) {
    const how = matchMedia('(pointer: coarse)').matches
      ? 'A finger on a chart tells what is there; two fingers draw a stretch apart, and two taps show all of it.'
      : 'The mouse over a chart tells what is there; dragged over a stretch it shows that alone, and a double click all of it.';
    if (states.length) plain('p', { class: 'when' }, data, how);
    plain('button', { type: 'button' }, data, 'Measurement (JSON)').addEventListener('click', () =>
      save('measurement.json', 'application/json', JSON.stringify(read('document'), null, 2)));
    plain('button', { type: 'button' }, data, 'What the charts draw (CSV)').addEventListener('click', () => {
      const cell = (text) => (/[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);
      const exact = (axis, value) => {
        if (value === undefined) return '';
        const factor = { decades: 1, shares: 100 }[axis.labels];
        return factor ? Number((factor * 10 ** value).toPrecision(6)) : value;
      };
      const axisOf = (axis) => cell(axis.title.replace(' (logarithmic)', { decades: ', ns', shares: ', %' }[axis.labels] || ''));
      const rows = ['path,figure,series,kind,x,y,x_to,y_to,shade,x_axis,y_axis'];
      for (const { figure, box } of states) for (const layer of figure.layers) {
        const heading = box.closest('article')?.querySelector('h1');
        const named = figure.legend.find(([, ink]) => ink === layer.ink);
        const head = [heading ? heading.textContent : '', figure.name, named ? named[0] : '', layer.kind].map(cell);
        const axes = [axisOf(figure.x), axisOf(figure.y)];
        for (const point of layer.points) {
          const [x, a, b, c, shade = ''] = [].concat(point);
          const [y, to, top] = layer.kind === 'bars' ? [b, a, c] : [a];
          rows.push([...head, exact(figure.x, x), exact(figure.y, y), exact(figure.x, to), exact(figure.y, top), shade, ...axes].join(','));
        }
      }
      save('charts.csv', 'text/csv', rows.join('\n') + '\n');
    });
  }
  document.documentElement.dataset.figures = String(states.length);
})();
